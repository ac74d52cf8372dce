// Stands in the page before the tag is loaded, and keeps the calls for it.
window.svc ||= ((svc) => {
  for (const name of 'track identify alias page consent reset ready'.split(' ')) {
    svc[name] = (...args) => void svc.q.push([name, ...args]);
  }
  return svc;
})({ q: [] });
