// Stands in the page before the tag is loaded, and keeps the calls for it, with when and where they were made.
if (!window.svc) {
  const svc = { q: [] };
  for (const name of 'track identify alias page consent reset ready'.split(' ')) {
    svc[name] = (...args) => {
      const when = [Date.now(), location.href, document.title];
      svc.q.push(Object.assign([name, ...args], { when }));
    };
  }
  window.svc = svc;
}
