import { type Arrival, arrivalAt, holding, type Parameters } from './campaign.ts';
import { readCookie, writeCookie } from './cookies.ts';
import { keep, readKept } from './kept.ts';
import { CLICK_S, SESSION_S, SESSION_WRITTEN_MS, VISITOR_S } from './limits.ts';
import { uuid7 } from './uuid7.ts';
import { sessionAt, sessionOf } from './visit_session.ts';

const VISITOR = 'svc_did';
const SESSION = 'svc_sid';
const ARRIVAL = 'svc_c';
const META = ['_fbp', '_fbc'];

/** Undefined: none was needed yet; empty: it was forgotten. */
let visitor: string | undefined;
/** The id where cookies are refused. Where they are not, a cookie that is gone was removed by another tab. */
let withoutCookies = '';
let session = '';
let writtenMs = 0;
let arrival: Arrival | null | undefined;

/** Whether this browser has an id: it was not offline when it got that, and nothing was refused since, in whatever tab. */
export const isKnown = (): boolean => !!readCookie(VISITOR);

/** The visitor's id from the cookie, which is renewed once a page; where cookies are refused, one for this page. */
export function visitorId(nowMs: number): string {
  const kept = readCookie(VISITOR);
  if (!kept || kept !== visitor) {
    visitor = kept || withoutCookies || uuid7(nowMs);
    writeCookie(VISITOR, visitor, VISITOR_S);
    withoutCookies = isKnown() ? '' : visitor;
  }
  return visitor;
}

export const ownId = (): string | undefined => visitor;

export function sessionId(nowMs: number): string {
  const next = sessionAt(readCookie(SESSION) ?? (withoutCookies && session), nowMs, uuid7);
  const id = sessionOf(next);
  if (id !== sessionOf(session) || nowMs - writtenMs > SESSION_WRITTEN_MS) {
    writtenMs = nowMs;
    writeCookie(SESSION, next, SESSION_S);
  }
  session = next;
  return id;
}

/** The next event is another visitor's, in another session. */
export function forgetVisitor(): void {
  visitor = withoutCookies = session = '';
  remove([VISITOR, SESSION, ...META]);
  keep(ARRIVAL);
  // What was shown, and what was filled in and is not sent yet: of the part for surveys and forms, which may not be here.
  keep('svc_e');
}

/** Forgets what ad platforms know the visitor by, and keeps the campaign. */
export function forgetClicks(): void {
  remove(META);
  arrival = readKept<Arrival>(ARRIVAL);
  if (arrival) arrival.parameters = holding(arrival, arrival, false);
  keep(ARRIVAL, arrival);
}

function remove(cookies: string[]): void {
  for (const name of cookies) if (readCookie(name)) writeCookie(name, '', 0);
}

/** The campaign parameters and click ids that hold for an event of the session. */
export function arrivalOf(search: string, inSession: string, atMs: number, ads: boolean): Parameters {
  const now = { session: inSession, atMs, visitor };
  // Whoever another tab has made the visitor came by other ways; what is kept may still be of the one before.
  if (arrival?.visitor !== visitor) arrival = readKept<Arrival>(ARRIVAL);
  const known = arrival && (arrival.visitor ?? visitor) === visitor ? arrival : { ...now, parameters: {} };
  arrival = arrivalAt(known, search, now, ads);
  if (arrival !== known) keep(ARRIVAL, arrival);
  return holding(arrival, now, ads);
}

/**
 * Meta's and TikTok's browser ids. Meta's are made here in its own form, `fb.1.<milliseconds>.<random or fbclid>`, so that
 * the first page's events carry them already; the pixel takes over what it finds.
 */
export function adIds(click: string | undefined, nowMs: number, withMeta: boolean): Record<string, string | undefined> {
  const give = (name: string, id: string): void => writeCookie(name, `fb.1.${nowMs}.${id}`, CLICK_S);
  if (withMeta) {
    if (click && !readCookie('_fbc')?.endsWith(`.${click}`)) give('_fbc', click);
    if (!readCookie('_fbp')) give('_fbp', `${Math.random()}`.slice(2, 12));
  }
  return { _fbp: readCookie('_fbp'), _fbc: readCookie('_fbc'), _ttp: readCookie('_ttp') };
}
