import { isForLater, waitMs } from '../send_rules.ts';
import { type Challenge, solve } from './solve_challenge.ts';

/** A request as it waits for its answer. */
export type Report = readonly [path: string, body: string];

/** What the edge said, as far as anybody looks at it. */
export interface Reply {
  status: number;
  body: { challenge?: Challenge; message?: string; error?: { fields?: { name: string }[] } };
}

/** What waits, also when the page is gone. */
export interface ReportQueue {
  waiting(): Report[];
  keepWaiting(waiting: Report[]): void;
}

export interface Reports {
  /** Tells the edge; what comes to nothing for now is sent again, also by a later page. Undefined: it waits for that. */
  send(path: string, body: object): Promise<Reply | undefined>;
  /** Sends what an earlier page left. */
  sendWaiting(): void;
}

/** Asks the edge; rejects where there was no answer. */
export type Post = (path: string, body: string) => Promise<Response>;

/** Of these the visitor is not asked again: without a proof they wait for a page of later, when there may be no doubt. */
const KEPT_WITHOUT_PROOF = 'surveys/respond';

/** Whether nobody took it. A proof that is still asked for could not be made. */
export const isNotTaken = ({ status, body }: Reply): boolean => status >= 400 || !!body.challenge;

/** A proof holds for minutes, and a report may wait for days: then another is asked for. */
const PROOFS_MAX = 3;

export function openReports(kept: ReportQueue, post: Post): Reports {
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  // No two have one body, as ids stand in it.
  const without = ([, body]: Report): Report[] => kept.waiting().filter((one) => one[1] !== body);
  async function deliver(report: Report, proofsLeft = PROOFS_MAX): Promise<Reply | undefined> {
    const answer = await post(...report).catch(() => undefined);
    if (!answer || isForLater(answer.status)) {
      later(answer?.headers.get('retry-after'));
      return undefined;
    }
    failures = 0;
    const body = (await answer.json().catch(() => ({}))) as Reply['body'];
    const solved = body.challenge && proofsLeft > 0 && (await withProof(report, body.challenge));
    const waits = solved || (body.challenge && report[0] === KEPT_WITHOUT_PROOF && report);
    kept.keepWaiting([...without(report), ...(waits ? [waits] : [])]);
    return solved ? deliver(solved, proofsLeft - 1) : { status: answer.status, body };
  }
  function later(retryAfter: string | null | undefined): void {
    failures += 1;
    timer ??= setTimeout(sendWaiting, waitMs(failures, Math.random(), retryAfter));
  }
  function sendWaiting(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const report of kept.waiting()) void deliver(report);
  }
  return {
    sendWaiting,
    send(path, body) {
      const report: Report = [path, JSON.stringify(body)];
      kept.keepWaiting([...kept.waiting(), report]);
      return deliver(report);
    },
  };
}

/** The report with the proof that is asked for; undefined where none was found, as in a page that is not secure. */
async function withProof([path, body]: Report, challenge: Challenge): Promise<Report | undefined> {
  const sent = JSON.parse(body) as object;
  const number = await solve(challenge).catch(() => -1);
  const { salt, signature } = challenge;
  const proof = { salt, signature, challenge: challenge.challenge, number };
  return number < 0 ? undefined : [path, JSON.stringify({ ...sent, challenge: proof })];
}
