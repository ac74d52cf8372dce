import type { Keys } from './bodies.ts';
import { chanceOf } from './random.ts';
import { type HostileRequest, hostileRequest } from './requests.ts';
import { type HostileAnswer, sendHostile } from './send.ts';
import { PLANTED } from './values.ts';

/** Statuses that docs/errors.md, the routes or HTTP itself have an answer for. */
export const DOCUMENTED = new Set([200, 204, 304, 400, 401, 403, 404, 405, 408, 413, 415, 429, 431, 503]);
const IN_FLIGHT = 24;
const SURPRISES_MAX = 10;

export interface HostileRun {
  /** How often each status was the answer; `none` where the connection ended without one. */
  statuses: Record<string, number>;
  /** What should not have been, with the request's number by which it can be made again. */
  surprises: string[];
  slowestMs: number;
}

/** Sends requests numbered from `first`; the same seed and number are the same request. */
export async function runHostile(
  edge: string,
  keys: Keys,
  { seed, first = 0, count }: { seed: number; first?: number; count: number },
): Promise<HostileRun> {
  const url = new URL(edge);
  const run: HostileRun = { statuses: {}, surprises: [], slowestMs: 0 };
  let next = first;
  async function slot(): Promise<void> {
    while (next < first + count && run.surprises.length < SURPRISES_MAX) {
      const number = next++;
      const request = hostileRequest(chanceOf(seed * 1_000_003 + number), keys);
      const answer = await sendHostile(url, request);
      const status = String(answer.status ?? 'none');
      run.statuses[status] = (run.statuses[status] ?? 0) + 1;
      run.slowestMs = Math.max(run.slowestMs, answer.tookMs);
      const surprise = surpriseOf(answer, request);
      if (surprise !== null) run.surprises.push(`#${number} ${request.what}: ${surprise}`);
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, slot));
  return run;
}

/** A body that goes on when the answer is already there makes the connection end with a reset, which may lose it. */
const BODY_BYTES_READ_AT_ONCE = 64 * 1024;

function surpriseOf({ status, head, body }: HostileAnswer, request: HostileRequest): string | null {
  if (status === null) {
    const mayBeLost = request.manner !== 'at_once' || request.body.length > BODY_BYTES_READ_AT_ONCE;
    return mayBeLost ? null : 'no answer';
  }
  if (!DOCUMENTED.has(status)) return `${status} ${body.slice(0, 200)}`;
  if (body.includes(PLANTED) || head.includes(PLANTED)) return `${status} repeats what was sent`;
  if (status === 503 && !/\r\nretry-after: \d+/i.test(head)) return '503 without Retry-After';
  if (/at .*\.(ts|js):\d+/.test(body)) return `${status} shows a stack`;
  return null;
}
