// Counts routes in the fragment, `#/` or `#!/`, as pages.
import { resolveBatch } from '../own_script.ts';
import { routeOf } from '../redact.ts';
import type { PartHost } from '../types.ts';

const pageOf = (href: string): string => {
  const { origin, pathname, hash } = new URL(href);
  return origin + pathname + routeOf(hash);
};

/** Also a route that the page went to before this script was there. */
resolveBatch(({ pagesBy }: Pick<PartHost, 'pagesBy'>) => pagesBy?.(pageOf));
