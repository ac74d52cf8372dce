// Counts routes in the fragment, `#/` or `#!/`, as pages.
import { resolveBatch } from '../own_script.ts';
import { listen } from '../page.ts';
import { routeOf } from '../redact.ts';
import type { PartHost } from '../types.ts';

/** Calls `page` for each further route on the same path: another path is a page by itself. A page may want to say its pages itself. */
resolveBatch(({ page, pages }: Pick<PartHost, 'page' | 'pages'>) => {
  if (pages === 'manual') return;
  let [path, route] = [location.pathname, routeOf(location.hash)];
  const look = (): void => {
    const [pathBefore, routeBefore] = [path, route];
    [path, route] = [location.pathname, routeOf(location.hash)];
    if (path === pathBefore && route !== routeBefore) page();
  };
  const { navigation } = window as { navigation?: EventTarget };
  if (navigation) listen(navigation, 'currententrychange', look);
  else for (const event of ['hashchange', 'popstate']) listen(window, event, look);
});
