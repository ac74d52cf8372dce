import { isForLater, waitMs } from '../send_rules.ts';
import { type Challenge, solve } from './solve_challenge.ts';

/** A request as it waits for its answer, and how long before it may be sent, where it is not to be at once. */
export type Report = readonly [path: string, body: string, firstMs?: number | undefined];

/** What the edge said, as far as anybody looks at it. */
export interface Reply {
  status: number;
  body: { challenge?: Challenge; message?: string; error?: { fields?: { name: string }[] } };
}

/** What waits, also when the page is gone. */
export interface ReportQueue {
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
