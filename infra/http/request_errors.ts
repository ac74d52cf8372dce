import { createHash } from 'node:crypto';
import type { Logger } from '#infra/log/logger.ts';
import type { Metrics } from '#infra/metrics/metrics.ts';

/** What is kept of the errors inside requests that nobody foresaw. One of them never ends the process. */
export type RequestErrors = ReturnType<typeof createRequestErrors>;

export interface RequestErrorsOptions {
  metrics: Metrics;
  logger: Logger;
  /** Milliseconds of a clock that only goes forward. */
  nowMs(): number;
  /** Errors without a success between them, over a minute at least, after which `fatal` is called; 0: never. */
  inARowMax: number;
  fatal(error: unknown): void;
}

/** Errors further apart than this have nothing to do with each other; a row of them lasts at least as long. */
const MINUTE_MS = 60_000;
/** An error that comes again and again is logged so often. */
const LOGGED_EVERY_MS = 10_000;
const FINGERPRINTS_MAX = 100;

/**
 * Counts and logs errors. As anybody may repeat a request, no number of failed ones says that the process is at fault:
 * only when none succeeds any more for a minute is it ended, for its supervisor to start it anew.
 */
export function createRequestErrors(options: RequestErrorsOptions) {
  const { metrics, logger, nowMs } = options;
  const counter = metrics.counter('svc_request_errors_total', 'Requests that failed for a reason nobody foresaw', [
    'route',
  ]);
  const unlogged = new Map<string, { sinceMs: number; times: number }>();
  let row = { startedMs: 0, lastMs: Number.NEGATIVE_INFINITY, errors: 0 };

  function log(error: unknown, route: string): void {
    const facts = errorFacts(error);
    const known = unlogged.get(facts.fingerprint);
    if (known !== undefined && nowMs() - known.sinceMs < LOGGED_EVERY_MS) {
      known.times += 1;
      return;
    }
    if (known === undefined && unlogged.size >= FINGERPRINTS_MAX) unlogged.clear();
    unlogged.set(facts.fingerprint, { sinceMs: nowMs(), times: 0 });
    logger.error({ route, ...facts, again: known?.times ?? 0 }, 'unknown error in a request');
  }

  function lengthen(): number {
    const now = nowMs();
    if (now - row.lastMs > MINUTE_MS) row = { startedMs: now, lastMs: now, errors: 0 };
    row.lastMs = now;
    row.errors += 1;
    return now - row.startedMs >= MINUTE_MS ? row.errors : 0;
  }

  return {
    /** Counts an error and logs where it was thrown; `route` is the route's pattern. */
    record(error: unknown, route: string | undefined = 'none'): void {
      counter.inc({ route });
      log(error, route);
      const inARow = lengthen();
      if (options.inARowMax === 0 || inARow < options.inARowMax) return;
      options.fatal(new Error(`no request has succeeded since ${row.errors} failed for unknown reasons`));
    },
    succeeded(): void {
      row.lastMs = Number.NEGATIVE_INFINITY;
    },
  };
}

/** An error without data: messages may quote what was sent. */
export interface ErrorFacts {
  /** The same for errors thrown at the same place. */
  fingerprint: string;
  error: string;
  code?: string;
  frames: string[];
}

const FRAMES_MAX = 10;
const FRAMES_TOLD_APART = 3;
const WORD = /^\w{1,60}$/;
/** A frame as V8 writes it; whatever else stands in a stack is of the message. */
const FRAME = /^ {4}at (?:(?:async |new )*[\w.$<>#[\] ]{1,100} )?\(?(?:file:\/\/|node:)?[\w./@+-]{1,300}:\d+:\d+\)?$/;

export function errorFacts(error: unknown): ErrorFacts {
  if (!(error instanceof Error)) return { fingerprint: typeof error, error: typeof error, frames: [] };
  const { code } = error as { code?: unknown };
  const name = WORD.test(error.name) ? error.name : 'Error';
  const frames = framesOf(error);
  const digest = createHash('sha256').update(JSON.stringify([name, ...frames.slice(0, FRAMES_TOLD_APART)]));
  return {
    fingerprint: digest.digest('hex').slice(0, 12),
    error: name,
    ...(typeof code === 'string' && WORD.test(code) ? { code } : {}),
    frames,
  };
}

/** The stack below the message, which itself may hold lines that look like frames. */
function framesOf({ stack, message }: Error): string[] {
  if (typeof stack !== 'string') return [];
  const told = stack.indexOf(message);
  const below = told < 0 ? '' : stack.slice(told + message.length);
  return below
    .split('\n')
    .filter((line) => FRAME.test(line))
    .slice(0, FRAMES_MAX)
    .map((line) => line.trim().replace(ROOT, ''));
}

const ROOT = new URL('../../', import.meta.url).href;
