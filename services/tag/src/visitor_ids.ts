import { type Arrival, arrivalAt, holding, type Parameters } from './campaign.ts';
import { readCookie, writeCookie } from './cookies.ts';
import { keep, readKept } from './kept.ts';
import { SESSION_S, SESSION_WRITTEN_MS, VISITOR_S } from './limits.ts';
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
export const visitorId = (nowMs: number): string => {
  const kept = readCookie(VISITOR);
  if (!kept || kept !== visitor) {
    visitor = kept || withoutCookies || uuid7(nowMs);
    writeCookie(VISITOR, visitor, VISITOR_S);
    withoutCookies = isKnown() ? '' : visitor;
  }
  return visitor;
};

export const ownId = (): string | undefined => visitor;

export const sessionId = (nowMs: number): string => {
  const next = sessionAt(readCookie(SESSION) ?? (withoutCookies && session), nowMs, uuid7);
  const id = sessionOf(next);
  if (id !== sessionOf(session) || nowMs - writtenMs > SESSION_WRITTEN_MS) {
    writtenMs = nowMs;
    writeCookie(SESSION, next, SESSION_S);
  }
  session = next;
  return id;
};

/** The next event is another visitor's, in another session. */
export const forgetVisitor = (): void => {
  visitor = withoutCookies = session = '';
  remove([VISITOR, SESSION, ...META]);
  keep(ARRIVAL);
  // What was shown, and what was filled in and is not sent yet: of the part for surveys and forms, which may not be here.
  keep('svc_e');
};

/** Forgets what ad platforms know the visitor by, and keeps the campaign. */
export const forgetClicks = (): void => {
  remove(META);
  arrival = readKept<Arrival>(ARRIVAL);
  if (arrival) arrival.parameters = holding(arrival, arrival, false);
  keep(ARRIVAL, arrival);
};

const remove = (cookies: string[]): void => {
  for (const name of cookies) if (readCookie(name)) writeCookie(name, '', 0);
};

/** The campaign parameters and click ids that hold for an event of the session. */
export const arrivalOf = (search: string, inSession: string, atMs: number, ads: boolean): Parameters => {
  const now = { session: inSession, atMs, visitor };
  // Whoever another tab has made the visitor came by other ways; what is kept may still be of the one before.
  if (arrival?.visitor !== visitor) arrival = readKept<Arrival>(ARRIVAL);
  const known = arrival?.visitor === visitor ? (arrival as Arrival) : { ...now, parameters: {} };
  arrival = arrivalAt(known, search, now, ads);
  if (arrival !== known) keep(ARRIVAL, arrival);
  return holding(arrival, now, ads);
};

/** Meta's and TikTok's browser ids. */
export const adIds = (): Record<string, string | undefined> => ({
  _fbp: readCookie('_fbp'),
  _fbc: readCookie('_fbc'),
  _ttp: readCookie('_ttp'),
});
