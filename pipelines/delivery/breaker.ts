// When a destination is not called: circuit breakers of one site and of the whole destination, and many events refused alike.

import { dropOldest, putNewest } from './concurrency.ts';

/** Limits of a breaker; all times in milliseconds. */
interface BreakerConfig {
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

/** How long the probe is left to a site's retry topics, which may be another process's: from then on any call is. */
const PROBED_BY_RETRIES_MS = 90_000;

/** What a call would have to wait for that leaves the probe to others; null where the breaker is closed, or nobody probed. */
function openReason(breaker: Breaker, nowMs: number): Extract<Permit, { kind: 'wait' }> | null {
  if (breaker.kind === 'closed') return null;
  const untilMs = breaker.kind === 'open' ? breaker.untilMs : breaker.probeUntilMs;
  if (nowMs >= untilMs + PROBED_BY_RETRIES_MS) return null;
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
    case 'half_open': {
      const forMs = Math.min(Math.max(config.openMs, breaker.openedForMs * 2), config.openMsMax);
      return open('failing', reason, forMs, nowMs);
    }
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

/** The breaker of one destination and site, as `deliver` uses it. */
export interface BreakerPort {
  ask(): Permit;
  /** @param isShared whether the call went to the platform's own address, which all sites share. */
  report(health: Health, isShared: boolean): void;
}

/** The breaker of one destination and site, for whom more is known than of its calls. */
interface SiteBreaker {
  ask(): Permit;
  report(health: Health): void;
  /** What a call has to wait for that leaves the probe to others; null where there is nothing. */
  trouble(): Extract<Permit, { kind: 'wait' }> | null;
}

/** The breakers of one process. */
export interface Breakers {
  of(destination: string, siteId: string): SiteBreaker;
  /** Forgets what is known, as after a site's secret was replaced. */
  reset(destination: string, siteId: string): void;
  /** Every breaker that is not closed and calm, for health pages and metrics. */
  list(): { destination: string; siteId: string; breaker: Breaker }[];
}

interface Slot {
  destination: string;
  siteId: string;
  breaker: Breaker;
}

/**
 * A table of breakers that holds at most `slotsMax`; calm ones take no room, and when it is full the one untouched for
 * longest is forgotten, which costs at most a few calls to a platform that is away.
 *
 * @param nowMs milliseconds of a clock that only goes forward.
 */
export function createBreakers(config: BreakerConfig, slotsMax: number, nowMs: () => number): Breakers {
  const slots = new Map<string, Slot>();
  const keyOf = (destination: string, siteId: string): string => `${destination}/${siteId}`;
  const put = (destination: string, siteId: string, breaker: Breaker): void => {
    const key = keyOf(destination, siteId);
    if (breaker.kind === 'closed' && breaker.failures === 0) slots.delete(key);
    else putNewest(slots, key, { destination, siteId, breaker }, slotsMax);
  };
  return {
    of: (destination, siteId) => {
      const current = (): Breaker => slots.get(keyOf(destination, siteId))?.breaker ?? CLOSED;
      return {
        ask: () => {
          const asked = ask(current(), config, nowMs());
          put(destination, siteId, asked.breaker);
          return asked.permit;
        },
        trouble: () => openReason(current(), nowMs()),
        report: (health) => put(destination, siteId, report(current(), config, health, nowMs())),
      };
    },
    reset: (destination, siteId) => void slots.delete(keyOf(destination, siteId)),
    list: () => [...slots.values()],
  };
}

/** How many sites each cause keeps from being called now; every cause is there. */
export function openBreakers(breakers: Pick<Breakers, 'list' | 'of'>): Map<BreakerCause, number> {
  const counts = new Map<BreakerCause, number>([
    ['failing', 0],
    ['throttled', 0],
    ['credentials_broken', 0],
  ]);
  for (const { destination, siteId } of breakers.list()) {
    const cause = breakers.of(destination, siteId).trouble()?.cause;
    if (cause !== undefined) counts.set(cause, (counts.get(cause) ?? 0) + 1);
  }
  return counts;
}

/** Limits of the watch over a whole destination; all times in milliseconds. */
export interface OutageConfig {
  /** Failures in a row, of whatever sites, that make it an outage. */
  failuresMax: number;
  /** Sites that must be among them; all there are where there are fewer. */
  sitesMin: number;
  /** How long nothing is sent at first; doubled each time a probe fails. */
  awayMs: number;
  awayMsMax: number;
  /** A probe that brought no news is given up after this time. */
  probeMs: number;
}

export const OUTAGE_DEFAULTS: OutageConfig = {
  failuresMax: 6,
  sitesMin: 3,
  awayMs: 2_000,
  awayMsMax: 15_000,
  probeMs: 60_000,
};

/** Whether a destination as a whole answers; a plain value. Times are milliseconds since 1970 UTC. */
export type Outage =
  | { kind: 'here'; failures: number; sites: readonly string[] }
  | { kind: 'away'; reason: string; untilMs: number; forMs: number }
  | { kind: 'probing'; reason: string; untilMs: number; forMs: number };

export const AVAILABLE: Outage = { kind: 'here', failures: 0, sites: [] };

export type OutagePermit = { kind: 'go' } | { kind: 'probe' } | { kind: 'wait'; notBeforeMs: number };

/** How soon the outcome of another's probe is looked for. */
const PROBE_LOOK_MS = 250;

/** Asks whether a batch may be attempted now; while the destination is away one probes and the others wait. */
export function outagePermit(
  outage: Outage,
  config: OutageConfig,
  nowMs: number,
): { permit: OutagePermit; outage: Outage } {
  if (outage.kind === 'here') return { permit: { kind: 'go' }, outage };
  if (nowMs < outage.untilMs) {
    const notBeforeMs = outage.kind === 'away' ? outage.untilMs : Math.min(outage.untilMs, nowMs + PROBE_LOOK_MS);
    return { permit: { kind: 'wait', notBeforeMs }, outage };
  }
  return { permit: { kind: 'probe' }, outage: { ...outage, kind: 'probing', untilMs: nowMs + config.probeMs } };
}

/**
 * What an answer from the platform's own address to one site's call says of the platform. Broken credentials are the
 * site's own matter and say nothing; an answer about events, good or bad, says that it is there.
 *
 * @param call its site, or the destination of one, and how many of these are delivered to; not less than `sitesMin` where
 *   there are as many.
 */
export function recordOutage(
  outage: Outage,
  config: OutageConfig,
  call: { siteId: string; health: Health; sites: number },
  nowMs: number,
): Outage {
  const { health, siteId } = call;
  if (health.kind === 'well' || health.kind === 'doubtful') return AVAILABLE;
  if (health.kind === 'credentials_broken') return outage;
  switch (outage.kind) {
    case 'away':
      return outage;
    case 'probing':
      return awayFor(health.reason, Math.min(outage.forMs * 2, config.awayMsMax), nowMs);
    case 'here': {
      const failures = outage.failures + 1;
      const sites = outage.sites.includes(siteId) ? outage.sites : [...outage.sites, siteId].slice(-config.sitesMin);
      if (failures < config.failuresMax || sites.length < Math.min(config.sitesMin, call.sites))
        return { kind: 'here', failures, sites };
      return awayFor(health.reason, config.awayMs, nowMs);
    }
  }
}

/** Whatever wait a platform asks for in its answer to one site is that site's: its own breaker keeps to it. */
function awayFor(reason: string, forMs: number, nowMs: number): Outage {
  return { kind: 'away', reason, untilMs: nowMs + forMs, forMs };
}

/**
 * After a probe that called nobody: the next batch probes, at once where nothing was to be sent, and after a pause where
 * the breaker of a site held it back.
 */
export function afterEmptyProbe(outage: Outage, config: OutageConfig, heldBack: boolean, nowMs: number): Outage {
  if (outage.kind !== 'probing') return outage;
  return { ...outage, kind: 'away', untilMs: heldBack ? nowMs + config.awayMs : nowMs };
}

/** Different events refused alike, with none taken between them, after which it is taken to be the destination's fault. */
export const SAME_REJECTION_MIN = 5;

/** Events that are dead at once, in a row, of a destination that took others lately. */
export const DEAD_IN_A_ROW_MAX = 20;

/** How long a destination that took an event is known to work: what it refuses meanwhile is not the destination's fault. */
const TAKEN_RECENTLY_MS = 300_000;

/** Refused events of one site that are held in memory at the most, of those since an event was taken and of those before. */
const HELD_MAX = 100;

/**
 * Whose fault it is that an event was refused by itself, by what is known now. `open`: too few were refused to say.
 * `unclear`: too many in a row to blame the events, too soon after one that was taken to blame the destination.
 * `again`: it was refused before, with none taken since, which says nothing new.
 */
export type Fault = 'event' | 'destination' | 'open' | 'unclear' | 'again';

/** What the calls of one site show of its destination where refusals do not say whether they are about the event. */
export interface SiteRejectionTracker {
  /** The platform took an event of the site: what it refused before, and refuses again, is the event's own fault. */
  taken(): void;
  /** An event was refused by itself. Where several different ones were, with this reason and in a row, it is the destination. */
  refused(reason: string, eventId: string): Fault;
  /** Whether the event was refused before, so that another refusal of it shows nothing of the destination. */
  isKnown(eventId: string): boolean;
}

/** The same of all sites of one process. */
export interface RejectionTracker {
  of(siteId: string): SiteRejectionTracker;
  /** Forgets what is known, as after a change of the site's settings. */
  reset(siteId: string): void;
}

interface Row {
  /** Of the last refusal. */
  reason: string;
  /** Different events refused with the reason, in a row. */
  alike: number;
  /** Refusals in a row of events that were refused before. */
  again: number;
  /** Events found at fault since one was taken. */
  dead: number;
  /** Refused since an event was taken, with the reason. */
  refused: Map<string, string>;
  /** Refused before an event was taken. */
  past: Set<string>;
  takenAtMs: number;
}

const newRow = (): Row => ({
  ...{ reason: '', alike: 0, again: 0, dead: 0 },
  ...{ refused: new Map(), past: new Set(), takenAtMs: Number.NEGATIVE_INFINITY },
});

/**
 * @param sitesMax sites that are held in memory at the most; the one called longest ago is forgotten first.
 * @param nowMs milliseconds of a clock that only goes forward.
 */
export function createRejectionTracker(sitesMax: number, nowMs: () => number): RejectionTracker {
  const rows = new Map<string, Row>();

  function touch(siteId: string): Row {
    const row = rows.get(siteId) ?? newRow();
    putNewest(rows, siteId, row, sitesMax);
    return row;
  }

  return {
    of: (siteId) => ({
      taken: () => take(touch(siteId), nowMs()),
      refused: (reason, eventId) => refuse(touch(siteId), reason, eventId, nowMs()),
      isKnown: (eventId) => {
        const row = rows.get(siteId);
        return row !== undefined && (row.refused.has(eventId) || row.past.has(eventId));
      },
    }),
    reset: (siteId) => void rows.delete(siteId),
  };
}

function take(row: Row, nowMs: number): void {
  for (const eventId of row.refused.keys()) row.past.add(eventId);
  dropOldest(row.past, HELD_MAX);
  Object.assign(row, { reason: '', alike: 0, again: 0, dead: 0, refused: new Map(), takenAtMs: nowMs });
}

function refuse(row: Row, reason: string, eventId: string, nowMs: number): Fault {
  if (row.past.has(eventId)) return 'event';
  const isNew = row.refused.get(eventId) !== reason;
  if (row.reason !== reason) Object.assign(row, { reason, alike: 0 });
  if (isNew) row.alike += 1;
  row.refused.set(eventId, reason);
  dropOldest(row.refused, HELD_MAX);
  if (nowMs - row.takenAtMs <= TAKEN_RECENTLY_MS) {
    if (row.dead >= DEAD_IN_A_ROW_MAX) return 'unclear';
    row.dead += 1;
    return 'event';
  }
  if (row.alike < SAME_REJECTION_MIN) return 'open';
  row.again = isNew ? 0 : row.again + 1;
  return row.again % SAME_REJECTION_MIN === 0 ? 'destination' : 'again';
}
