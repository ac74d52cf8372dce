import { ask } from './ask.ts';
import { readCookie, writeCookie } from './cookies.ts';
import { VISITOR_S } from './limits.ts';
import type { PartHost } from './types.ts';
import { uuid7 } from './uuid7.ts';
import { sessionOf } from './visit_session.ts';

const VISITOR = 'svc_did';
const sessionNow = (): string => sessionOf(readCookie('svc_sid') ?? '');

/**
 * Has the visitor's cookie set by the site's own domain, once a page, after the tag has written it: what a script sets Safari
 * keeps for a week. The answer may come when the visitor has refused or is another, and has put back what was removed.
 */
export function renewVisitor({ config, analytics }: PartHost): void {
  const base = config.tag?.loader?.base;
  if (!base || !analytics()) return;
  const session = sessionNow();
  const answered = (): void => {
    if (!analytics()) writeCookie(VISITOR, '', 0);
    else if (sessionNow() !== session) writeCookie(VISITOR, uuid7(Date.now()), VISITOR_S);
  };
  // Without CORS nobody may read the answer, and nobody has to.
  ask(`${base}/v1/visitor`, { credentials: 'include', mode: 'no-cors' }).then(answered, () => undefined);
}
