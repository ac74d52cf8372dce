import { ask } from './ask.ts';
import { readCookie, writeCookie } from './cookies.ts';
import { VISITOR_S } from './limits.ts';
import type { PartHost } from './types.ts';

const VISITOR = 'svc_did';

/**
 * Has the visitor's cookie set by the site's own domain, once a page, after the tag has written it: what a script sets Safari
 * keeps for a week. The answer may come when the visitor has refused or is another, and has put back what was removed.
 */
export function renewVisitor({ config, analytics, visitor }: PartHost): void {
  const base = config.tag?.loader?.base;
  if (!base || !analytics()) return;
  const asked = readCookie(VISITOR);
  const before = visitor?.();
  const answered = (): void => {
    const now = visitor?.();
    if (!analytics()) writeCookie(VISITOR, '', 0);
    // Forgotten and nothing measured since, or another visitor by now. A session may begin meanwhile without either.
    else if (now !== before && now !== asked) writeCookie(VISITOR, now ?? '', now ? VISITOR_S : 0);
  };
  // Without CORS nobody may read the answer, and nobody has to.
  ask(`${base}/v1/visitor`, { credentials: 'include', mode: 'no-cors' }).then(answered, () => undefined);
}
