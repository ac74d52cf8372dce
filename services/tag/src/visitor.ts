import {
  CLICK_MS,
  ID_CHARACTERS,
  IDLE_MS,
  SESSION_MS_MAX,
  SESSION_S,
  SESSION_WRITTEN_MS,
  VALUE_CHARACTERS_MAX,
  VISITOR_COOKIE,
  VISITOR_S,
} from './limits.ts';
import { attempt } from './page.ts';
import { keep, readCookie, readKept, writeCookie } from './storage.ts';

/** A UUID of version 7 (RFC 9562): the time, then what is random. Sorted as texts, ids are in order of time. */
export const uuid7 = (nowMs: number): string => {
  const time = nowMs.toString(16).padStart(12, '0');
  // Only pages over https have randomUUID. Ids tell events apart and guard nothing.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${
    attempt(() => crypto.randomUUID().slice(15)) ??
    'xxx-8xxx-xxxxxxxxxxxx'.replace(/x/g, () => ((Math.random() * 16) | 0).toString(16))
  }`;
};

/** When an id of version 7 was made. */
export const msOf = (uuid: string): number => parseInt(uuid.replace('-', ''), 16);

/** The id of a session as its cookie has it: `<UUIDv7>.<when it was last seen: milliseconds, base 36>`. */
export const sessionOf = (kept: string): string => kept.slice(0, ID_CHARACTERS);

/**
 * The session as of now: the kept one goes on for 30 minutes after it was last seen, and ends 24 hours after it began; then
 * a new one begins, as where what was kept cannot be read, or by a clock that was ahead.
 */
export const sessionAt = (kept: string, nowMs: number, newId: (nowMs: number) => string): string => {
  const seenMs = parseInt(kept.slice(ID_CHARACTERS + 1), 36);
  const goesOn = Math.abs(nowMs - seenMs) < IDLE_MS && nowMs - msOf(kept) < SESSION_MS_MAX;
  return `${goesOn ? sessionOf(kept) : newId(nowMs)}.${nowMs.toString(36)}`;
};

/**
 * utm_source and its kind, which tell the campaign, with the ids that ad platforms add to the addresses of their ads, which
 * tell the click.
 */
const ARRIVAL = /^(utm_\w+|(fb|g|d|tt|tw|y)clid|msclkid|[gw]braid|li_fat_id|epik|rdt_cid|sccid)$/i;

type Parameters = Record<string, string>;

interface Moment {
  session: string;
  atMs: number;
  /** Whose it is. */
  visitor?: string | undefined;
}
/** How the visitor came last: in which session, when, and with which parameters. */
export interface Arrival extends Moment {
  parameters: Parameters;
}

const picked = (entries: Iterable<[string, string]>, isWanted: (name: string) => boolean): Parameters =>
  Object.fromEntries(
    [...entries].filter(([name, value]) => value && value.length < VALUE_CHARACTERS_MAX && isWanted(name)),
  );

/** The parameters of an address. Those that tell the campaign are written in any case. */
const queryOf = (search: string): URLSearchParams =>
  new URLSearchParams(search.replace(/utm_\w+=/gi, (name) => name.toLowerCase()));

const isClick = (name: string): boolean => !/^utm_\w+$/.test(name);

/** The parameters that tell the campaign. */
export const campaignOf = (search: string): Parameters => picked(queryOf(search), (name) => !isClick(name));
let session = '';

/** What holds for an event: a campaign in the session that it began, a click on an ad for 90 days where ads are allowed. */
export const holding = ({ session, atMs, parameters }: Arrival, now: Moment, ads: boolean): Parameters =>
  picked(Object.entries(parameters), (name) =>
    isClick(name) ? ads && now.atMs - atMs < CLICK_MS : session === now.session,
  );

/** The arrival as of now: the known one, unless the page's query says something that does not hold yet. */
export const arrivalAt = (known: Arrival, search: string, now: Moment, ads: boolean): Arrival => {
  const held = holding(known, now, ads);
  const said = picked(queryOf(search), (name) => ARRIVAL.test(name) && (ads || !isClick(name)));
  if (Object.keys(said).every((name) => said[name] === held[name])) return known;
  return { ...now, parameters: { ...picked(Object.entries(known.parameters), isClick), ...said } };
};

const SESSION = 'svc_sid';
const ARRIVAL_KEY = 'svc_c';
const AD_IDS = ['_fbp', '_fbc', '_ttp'];

/** Undefined: none was needed yet; empty: it was forgotten. */
export let visitor: string | undefined;
/** The id where cookies are refused. Where they are not, a cookie that is gone was removed by another tab. */
let withoutCookies = '';
let writtenMs = 0;
let arrival: Arrival | null | undefined;

/** The id that this browser has: it was not offline when it got that, and nothing was refused since, in whatever tab. */
export const keptId = (): string => readCookie(VISITOR_COOKIE);

/** The visitor's id from the cookie, which is renewed once a page; where cookies are refused, one for this page. */
export const visitorId = (nowMs: number): string => {
  const kept = keptId();
  if (!kept || kept !== visitor) {
    visitor = kept || withoutCookies || uuid7(nowMs);
    // First the session's, whose value is new: it tells for which domain the browser takes cookies, where this one's only ends later.
    if (kept) sessionId(nowMs);
    writeCookie(VISITOR_COOKIE, visitor, VISITOR_S);
    withoutCookies = keptId() ? '' : visitor;
  }
  return visitor;
};

export const sessionId = (nowMs: number): string => {
  const next = sessionAt(readCookie(SESSION) || (withoutCookies && session), nowMs, uuid7);
  const id = sessionOf(next);
  if (id !== sessionOf(session) || nowMs - writtenMs > SESSION_WRITTEN_MS) {
    writtenMs = nowMs;
    writeCookie(SESSION, next, SESSION_S);
  }
  session = next;
  return id;
};

const remove = (cookies: string[]): void => {
  for (const name of cookies) writeCookie(name, '', 0);
};

/** The next event is another visitor's, in another session. */
export const forgetVisitor = (): void => {
  visitor = withoutCookies = session = '';
  remove([VISITOR_COOKIE, SESSION, ...AD_IDS]);
  keep(ARRIVAL_KEY);
  // What was shown, and what was filled in and is not sent yet: of the part for surveys and forms, which may not be here.
  keep('svc_e');
};

/** Forgets what ad platforms know the visitor by, and keeps the campaign. */
export const forgetClicks = (): void => {
  remove(AD_IDS);
  arrival = readKept<Arrival>(ARRIVAL_KEY);
  if (arrival) arrival.parameters = holding(arrival, arrival, false);
  keep(ARRIVAL_KEY, arrival);
};

/** The campaign parameters and click ids that hold for an event of the session. */
export const arrivalOf = (search: string, inSession: string, atMs: number, ads: boolean): Parameters => {
  const now = { session: inSession, atMs, visitor };
  // Whoever another tab has made the visitor came by other ways; what is kept may still be of the one before.
  if (arrival?.visitor !== visitor) arrival = readKept<Arrival>(ARRIVAL_KEY);
  const known = arrival?.visitor === visitor ? (arrival as Arrival) : { ...now, parameters: {} };
  arrival = arrivalAt(known, search, now, ads);
  if (arrival !== known) keep(ARRIVAL_KEY, arrival);
  return holding(arrival, now, ads);
};

/** Meta's and TikTok's browser ids. */
export const adIds = (): Parameters =>
  picked(
    AD_IDS.map((name) => [name, readCookie(name)]),
    () => true,
  );
