// What of a visitor's impressions is kept in the browser, and how it is reported to the edge.
import type { ShownItem, SurveyProgress } from '#services/engage_panels/shown_item.ts';
import { isForLater, waitMs } from '../requests.ts';
import { keep, readKept } from '../storage.ts';

/** A request as it waits for its answer, and how long before it may be sent, where it is not to be at once. */
export type Report = readonly [path: string, body: string, firstMs?: number | undefined];

/** What the edge said, as far as anybody looks at it. */
export interface Reply {
  status: number;
  body: { challenge?: Challenge; message?: string; error?: { fields?: { name: string }[] } };
}

/** What waits, also when the page is gone. */
interface ReportQueue {
  waiting(): Report[];
  keepWaiting_(waiting: Report[]): void;
}

/** Hears what the edge said; undefined, any number of times before that: it is sent again later. */
export type HearReply = (reply?: Reply) => void;

export interface Reports {
  /**
   * Tells the edge; what comes to nothing for now is sent again, also by a later page.
   *
   * @param firstMs it waits so long before, anew on a later page where this one is left: by no clock that somebody may set.
   */
  send(path: string, body: object, heard?: HearReply, firstMs?: number): void;
  /** Sends what an earlier page left. */
  sendWaiting_(): void;
}

/** Asks the edge; rejects where there was no answer. It is given a whole report, and waits for nothing. */
export type Post = (...report: Report) => Promise<Response>;

/** Of these the visitor is not asked again: without a proof they wait for a page of later, when there may be no doubt. */
const KEPT_WITHOUT_PROOF = 'surveys/respond';

/** Whether nobody took it. A proof that is still asked for could not be made. */
export const isNotTaken = ({ status, body }: Reply): boolean => status >= 400 || !!body.challenge;

/** A proof holds for minutes, and a report may wait for days: then another is asked for. */
const PROOFS_MAX = 3;

export function openReports(kept: ReportQueue, post: Post): Reports {
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** By body. */
  const listeners = new Map<string, HearReply | undefined>();

  // No two have one body, as ids stand in it.
  const without = ([, body]: Report): Report[] => kept.waiting().filter((one) => one[1] !== body);
  async function deliver(report: Report, proofsLeft = PROOFS_MAX): Promise<void> {
    const heard = listeners.get(report[1]);
    const answer = await post(...report).catch(() => undefined);
    const body = (await answer?.json().catch(() => undefined)) as Reply['body'] | undefined;
    // The edge answers JSON, and the page of a network that asks to sign in is none.
    if (!answer || !body || isForLater(answer.status)) {
      later(answer?.headers.get('retry-after'));
      return heard?.();
    }
    failures = 0;
    const solved = body.challenge && proofsLeft > 0 && (await withProof(report, body.challenge));
    const waits = solved || (body.challenge && report[0] === KEPT_WITHOUT_PROOF && report);
    kept.keepWaiting_([...without(report), ...(waits ? [waits] : [])]);
    if (solved) {
      listeners.set(solved[1], heard);
      return deliver(solved, proofsLeft - 1);
    }
    heard?.({ status: answer.status, body });
  }
  function later(retryAfter: string | null | undefined): void {
    failures += 1;
    timer ??= setTimeout(sendWaiting_, waitMs(failures, Math.random(), retryAfter));
  }
  /** What is told as the page is left goes at once. */
  function start(report: Report): void {
    const [, , firstMs = 0] = report;
    if (firstMs > 0) setTimeout(deliver, firstMs, report);
    else void deliver(report);
  }
  function sendWaiting_(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const report of kept.waiting()) start(report);
  }
  return {
    sendWaiting_,
    send(path, body, heard, firstMs) {
      const report: Report = [path, JSON.stringify(body), firstMs];
      kept.keepWaiting_([...kept.waiting(), report]);
      listeners.set(report[1], heard);
      start(report);
    },
  };
}

/** The report with the proof that is asked for; undefined where none was found, as in a page that is not secure. */
async function withProof([path, body]: Report, challenge: Challenge): Promise<Report | undefined> {
  const sent = JSON.parse(body) as object;
  const number = await solve(challenge).catch(() => -1);
  return number < 0 ? undefined : [path, JSON.stringify({ ...sent, challenge: { ...challenge, number } })];
}

/** What the edge asks for in doubt: the number whose SHA-256 with the salt is known (ALTCHA's scheme). */
interface Challenge {
  salt: string;
  challenge: string;
  maxnumber: number;
  signature: string;
}

const AT_ONCE = 1000;

async function digestOf(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Finds the number; -1 where there is none. Rejects in a page that is not secure: it has no SHA-256. */
async function solve({ salt, challenge, maxnumber }: Challenge): Promise<number> {
  for (let from = 0; from <= maxnumber; from += AT_ONCE) {
    const digests = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => digestOf(`${salt}${from + at}`)));
    const found = digests.indexOf(challenge);
    if (found >= 0) return from + found;
  }
  return -1;
}

/** What is open: it goes on under its id where the page is loaded again. */
export interface OpenShowing {
  /** Of the page. */
  path: string;
  item: ShownItem;
  /** The submission's or impression's id, made once. */
  id: string;
  shownMs: number;
  /** The page that shows it is left: a reload may go on with it, in this or another tab. */
  isLeft?: boolean;
  progress?: SurveyProgress | undefined;
}

interface Kept {
  /** Whose memory it is. */
  visitor?: string | undefined;
  seen?: SeenItems;
  open?: OpenShowing[];
  waiting?: Report[];
}

const KEY = 'svc_e';
const WAITING_MAX = 50;
const OPEN_MAX = 5;
/** A lead that nobody took for so long is none. */
const WAITING_MS_MAX = 7 * 24 * 3_600_000;
/** A reload goes on with nothing older, and nobody takes that long to answer. */
export const OPEN_MS_MAX = 24 * 3_600_000;

/** What is remembered of one visitor, where that may be kept in the browser, and else as long as the page is there. */
export interface KeptShowings extends ReportQueue {
  seen(): SeenItems;
  note(seen: SeenItems): void;
  /** What pages that were left had open. */
  open(): OpenShowing[];
  /** What this page has open. */
  mine(): Iterable<OpenShowing>;
  /** Of one id; undefined: it is over. */
  keepOpen_(id: string, open?: OpenShowing): void;
}

/**
 * Begins with removing what is kept no longer.
 *
 * @param own the visitor's id; undefined: none may be kept.
 * @param isTheirs_ whether they are still who looks, and may be measured: else nothing of them is kept any more.
 */
export function openKept(own: string | undefined, isTheirs_: () => boolean): KeptShowings {
  let ofPage: Kept = {};
  const mine = new Map<string, OpenShowing>();

  function read(): Required<Kept> {
    const kept = own ? readKept<Kept>(KEY) : ofPage;
    // Another visitor of the same browser has seen nothing yet, and does not send what the one before filled in.
    const { seen = {}, open = [], waiting = [] } = (kept?.visitor === own && kept) || {};
    return { visitor: own, seen, open: open.filter(isOpenStill), waiting: waiting.filter(isYoung) };
  }
  function write(change: Partial<Kept>): void {
    if (!isTheirs_()) return;
    ofPage = { ...read(), ...change };
    if (own) keep(KEY, ofPage);
  }
  if (readKept(KEY)) write({});
  return {
    seen: () => read().seen,
    note: (seen) => write({ seen }),
    open: () => read().open.filter(({ isLeft }) => isLeft),
    mine: () => mine.values(),
    keepOpen_(id, open) {
      if (open) mine.set(id, open);
      else mine.delete(id);
      const others = read().open.filter((one) => one.id !== id);
      write({ open: [...others, ...(open ? [open] : [])].slice(-OPEN_MAX) });
    },
    waiting: () => read().waiting,
    // Of too many the oldest are dropped.
    keepWaiting_: (waiting) => write({ waiting: waiting.slice(-WAITING_MAX) }),
  };
}

/** How long ago that was; what a clock that was ahead calls later is as old as it will be then. */
export const agoMs = (atMs: number): number => Math.abs(Date.now() - atMs);

const isOpenStill = ({ shownMs }: OpenShowing): boolean => agoMs(shownMs) < OPEN_MS_MAX;

const isYoung = ([, body]: Report): boolean =>
  agoMs(Date.parse((JSON.parse(body) as { timestamp: string }).timestamp)) < WAITING_MS_MAX;

/** What this browser remembers of an item: how often it was shown, when last, and when it was answered last. */
interface Seen {
  n: number;
  last: number;
  done?: number;
}
/** By kind and id, as `survey:nps`. */
export type SeenItems = Readonly<Record<string, Seen>>;

/** POST /v1/engage takes no more. */
const ITEMS_MAX = 150;

function withItem(seen: SeenItems, name: string, item: Seen): SeenItems {
  const all = Object.entries({ ...seen, [name]: item });
  return Object.fromEntries(all.sort(([, one], [, other]) => other.last - one.last).slice(0, ITEMS_MAX));
}

/** With one more time that an item was shown; those shown longest ago are forgotten. */
export const withShown = (seen: SeenItems, name: string, nowMs: number): SeenItems =>
  withItem(seen, name, { ...seen[name], n: (seen[name]?.n ?? 0) + 1, last: nowMs });

/** With an item answered, clicked or submitted. */
export const withDone = (seen: SeenItems, name: string, nowMs: number): SeenItems =>
  withItem(seen, name, { n: 1, last: nowMs, ...seen[name], done: nowMs });
