/** Limits of a breaker; all times in milliseconds. */
export interface BreakerConfig {
  /** Consecutive failures that open it. */
  failuresMax: number;
  /** How long it stays open after failures, at first; doubled each time a probe fails. */
  openMs: number;
  openMsMax: number;
  /** How long it stays open after an answer that says the credentials are broken. */
  brokenOpenMs: number;
  /** Longest wait that a platform's Retry-After is given. */
  throttleMsMax: number;
  /** A probe that was never reported is given up after this time. */
  probeMs: number;
}

/** Longest wait that a platform's Retry-After is given, whoever waits: a proxy may ask for a week. */
export const RETRY_AFTER_MS_MAX = 21_600_000;

export const BREAKER_DEFAULTS: BreakerConfig = {
  failuresMax: 5,
  openMs: 5_000,
  openMsMax: 300_000,
  brokenOpenMs: 600_000,
  throttleMsMax: RETRY_AFTER_MS_MAX,
  probeMs: 60_000,
};

/** Failures that a call counts as which took all its time: it held up what was read with it. */
const TIMEOUT_WEIGHT = 3;

type BreakerCause = 'failing' | 'throttled' | 'credentials_broken';

/** The state of one breaker; a plain value. Times are milliseconds of a clock that only goes forward. */
export type Breaker =
  | { kind: 'closed'; failures: number }
  | { kind: 'open'; cause: BreakerCause; reason: string; untilMs: number; openedForMs: number }
  | { kind: 'half_open'; cause: BreakerCause; reason: string; probeUntilMs: number; openedForMs: number };

export const CLOSED: Breaker = { kind: 'closed', failures: 0 };

export type Permit =
  | { kind: 'go' }
  /** The one call that tests whether the platform has healed. */
  | { kind: 'probe' }
  | { kind: 'wait'; cause: BreakerCause; reason: string; waitMs: number };

/** What a call showed of the platform's health; an answer about the events themselves counts as `well`. */
export type Health =
  | { kind: 'well' }
  /** It answers, and what it refuses may be the events or all that is sent to it. */
  | { kind: 'doubtful' }
  | { kind: 'failing'; reason: string }
  | { kind: 'throttled'; reason: string; retryAfterMs: number | null }
  | { kind: 'credentials_broken'; reason: string };

/** Asks whether a call may be made now, and returns the state after asking. */
export function ask(breaker: Breaker, config: BreakerConfig, nowMs: number): { permit: Permit; breaker: Breaker } {
  if (breaker.kind === 'closed') return { permit: { kind: 'go' }, breaker };
  const waitUntilMs = breaker.kind === 'open' ? breaker.untilMs : breaker.probeUntilMs;
  const { cause, reason, openedForMs } = breaker;
  if (nowMs < waitUntilMs) return { permit: { kind: 'wait', cause, reason, waitMs: waitUntilMs - nowMs }, breaker };
  const probing: Breaker = { kind: 'half_open', cause, reason, openedForMs, probeUntilMs: nowMs + config.probeMs };
  return { permit: { kind: 'probe' }, breaker: probing };
}

/** How long the probe is left to a site's lanes, which may be another process's: from then on any call is. */
const PROBED_BY_LANES_MS = 90_000;

/** What a call would have to wait for that leaves the probe to others; null where the breaker is closed, or nobody probed. */
export function troubleOf(breaker: Breaker, nowMs: number): Extract<Permit, { kind: 'wait' }> | null {
  if (breaker.kind === 'closed') return null;
  const untilMs = breaker.kind === 'open' ? breaker.untilMs : breaker.probeUntilMs;
  if (nowMs >= untilMs + PROBED_BY_LANES_MS) return null;
  const { cause, reason } = breaker;
  return { kind: 'wait', cause, reason, waitMs: Math.max(0, untilMs - nowMs) };
}

function open(cause: BreakerCause, reason: string, forMs: number, nowMs: number): Breaker {
  return { kind: 'open', cause, reason, untilMs: nowMs + forMs, openedForMs: forMs };
}

function afterFailure(breaker: Breaker, config: BreakerConfig, reason: string, nowMs: number): Breaker {
  switch (breaker.kind) {
    case 'closed': {
      const failures = breaker.failures + (reason === 'timeout' ? TIMEOUT_WEIGHT : 1);
      return failures < config.failuresMax
        ? { kind: 'closed', failures }
        : open('failing', reason, config.openMs, nowMs);
    }
    case 'half_open':
      return open(
        'failing',
        reason,
        Math.min(Math.max(config.openMs, breaker.openedForMs * 2), config.openMsMax),
        nowMs,
      );
    case 'open':
      return breaker;
  }
}

/** The state after a call has shown `health`. */
export function report(breaker: Breaker, config: BreakerConfig, health: Health, nowMs: number): Breaker {
  switch (health.kind) {
    case 'well':
      return breaker.kind === 'open' ? breaker : CLOSED;
    case 'doubtful':
      return breaker;
    case 'credentials_broken':
      return open('credentials_broken', health.reason, config.brokenOpenMs, nowMs);
    case 'failing':
      return afterFailure(breaker, config, health.reason, nowMs);
    case 'throttled':
      return health.retryAfterMs === null
        ? afterFailure(breaker, config, health.reason, nowMs)
        : open('throttled', health.reason, Math.min(health.retryAfterMs, config.throttleMsMax), nowMs);
  }
}
