// Attempts to deliver: what all share, the work of one event, and its end.
import { monotonicMs, wallMsOf } from '#infra/concurrency/time_limits.ts';
import type { DeliveryConfig } from '#infra/config/stage_config.ts';
import { createEgress, EGRESS_DEFAULTS } from '#infra/egress/send.ts';
import { type KeyRing, openDestinationSecrets, parseKeyRing } from '#infra/secrets/seal.ts';
import {
  BREAKER_DEFAULTS,
  createBreakers,
  createRejectionTracker,
  OUTAGE_DEFAULTS,
  openBreakers,
} from '#pipelines/delivery/breaker.ts';
import { createSiteConcurrencyLimiter, createSlowSites } from '#pipelines/delivery/concurrency.ts';
import type { Adapter, EntryOutcome } from '#pipelines/delivery/contract.ts';
import { deliver } from '#pipelines/delivery/deliver.ts';
import {
  createTokens,
  createUncommittedOutcomes,
  isHandedOver,
  skipped,
  slowed,
} from '#pipelines/delivery/delivery_run.ts';
import { targetKey } from '#pipelines/delivery/destination_id.ts';
import { slowTopic } from '#pipelines/delivery/retry_topics.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { EventEntry } from '#schemas/event.ts';
import { decodeEntry, type EncodedEvent } from '#schemas/event_batch.ts';
import type { Destination } from '#schemas/setting.ts';
import type { Runtime } from '#services/stage/runtime.ts';
import { deliveryPorts, type OpenEvent, type SharedByCalls, watchCalls, watchOutage } from './delivery_ports.ts';
import { type SiteJob, targetOf } from './job_reader.ts';

/** Breakers kept at the most; one is a few dozen bytes and calm ones take none. */
const BREAKERS_MAX = 100_000;
/** Sites whose refusals, and whose pace, are held at the most. */
const SITES_MAX = 10_000;
/** Calls in flight at the most, so that no site's calls wait for the connections of another's. */
const CALLS_MAX = 64;
/** Outcomes kept at the most until they are committed; some 150 bytes each. */
const UNCOMMITTED_MAX = 100_000;

/** Opens the way to a platform: connections, breakers, the watch over outages, and what was answered but not committed. */
export function openDeliveries(
  { metrics, logger, onStop }: Runtime,
  adapter: Adapter,
  table: SettingsTable,
  returned: (target: string) => void,
  { baseUrl, allowLoopback, secretsKeys }: Pick<DeliveryConfig, 'baseUrl' | 'allowLoopback' | 'secretsKeys'>,
) {
  const options = { ...EGRESS_DEFAULTS, connectionsMax: CALLS_MAX, allowHttp: allowLoopback, allowLoopback };
  const egress = watchCalls(createEgress(options), monotonicMs);
  onStop(() => egress.close());
  const callHelp = 'For how long the oldest call under way has had no answer';
  metrics.read('svc_delivery_oldest_call_seconds', callHelp, [], () => [[{}, egress.oldestCallMs() / 1_000]]);
  const breakers = createBreakers(BREAKER_DEFAULTS, BREAKERS_MAX, monotonicMs);
  const sites = table.destinationsOfKind(adapter.name);
  const watch = watchOutage({
    destination: adapter.name,
    config: OUTAGE_DEFAULTS,
    breakers,
    bySite: sites,
    logger,
    nowMs: monotonicMs,
    wallMsOf,
  });
  const isThere = ({ siteId: target }: { siteId: string }): boolean => {
    const [siteId = '', id = adapter.name] = target.split('/');
    return table.destination(siteId, id) !== undefined;
  };
  const openHelp = 'Destinations of sites to which nothing but probes is sent, by cause';
  metrics.read('svc_delivery_breakers_open', openHelp, ['cause'], () =>
    // Of destinations that were deleted nothing waits.
    [...openBreakers({ ...breakers, list: () => breakers.list().filter(isThere) })].map(([cause, count]) => [
      { cause },
      count,
    ]),
  );
  const awayHelp = 'Whether the destination as a whole is unavailable';
  metrics.read('svc_delivery_away', awayHelp, [], () => [[{}, watch.isAway() ? 1 : 0]]);
  const shortfall = metrics.counter(
    'svc_delivery_shortfall_events_total',
    'Events that a destination did not take of a call, without saying which',
    [],
  );
  const uncommitted = createUncommittedOutcomes(UNCOMMITTED_MAX);
  const slow = createSlowSites(SITES_MAX, monotonicMs);
  const attempts = createAttempts({
    adapter,
    baseUrl,
    table,
    ring: parseKeyRing(secretsKeys),
    breakers,
    turns: createSiteConcurrencyLimiter(CALLS_MAX, slow.isSlow),
    slow,
    isAlone: () => sites.size < 2 && [...sites.values()].every(({ length }) => length < 2),
    watch,
    returned,
    egress,
    uncommitted,
    rejections: createRejectionTracker(SITES_MAX, monotonicMs),
    onPartialSuccess: (events) => shortfall.inc(events),
    logger,
    nowMs: Date.now,
    monotonicMs,
  });
  /** Whether nothing is to be asked now of a site's destination. */
  const isInTrouble = (target: string): boolean => breakers.of(adapter.name, target).trouble() !== null;
  return { attempts, watch, uncommitted, isInTrouble };
}

/** What an attempt made of one event. */
export interface Attempted {
  siteId: string;
  /** Id of the destination. */
  destination: string;
  /** Offset of the record it was read from. */
  offset: number;
  view: EncodedEvent;
  entry: EventEntry;
  outcome: EntryOutcome;
  attempt: number;
  firstAttemptedAtMs: number;
  attemptedAtMs: number;
  /** Whether it was read from the main topic, rather than from a retry topic or a replay. */
  isMain: boolean;
  /** Why nothing was asked the last time; '' where something was, or it is the first. */
  pausedFor: string;
}

interface AttemptOptions extends SharedByCalls {
  adapter: Adapter;
  baseUrl: string | null;
  table: SettingsTable;
  ring: KeyRing;
}

export type Attempts = ReturnType<typeof createAttempts>;

/** Short-lived tokens kept at the most, one for each site whose destination needs one. */
const TOKENS_MAX = 10_000;

/** Makes attempts with the site's settings as they are now. */
export function createAttempts(options: AttemptOptions) {
  const deliverOpen = createOpenDelivery(options);
  return {
    /** @param stopping whether no further call is to be begun. */
    async make(job: SiteJob, stopping: () => boolean): Promise<Attempted[]> {
      const startedMs = options.nowMs();
      const events = job.events.map((event) => ({
        ...event,
        entry: decodeEntry(event.view),
        given: options.uncommitted.of(job.source, event),
      }));
      const open = events.filter(({ given }) => given === null);
      const outcomes = await deliverOpen(job, open, startedMs, stopping);
      const made = new Map(open.map(({ entry }, index) => [entry, outcomes[index] as EntryOutcome]));
      // Others of the site that are paused may have been so by a process whose breaker is not this one's.
      if (job.pausedFor !== '' && outcomes.some(({ outcome }) => outcome === 'delivered'))
        options.returned(targetOf(job));
      return events.map(({ view, offset, entry, given }) => ({
        siteId: job.siteId,
        destination: job.destination,
        offset,
        view,
        entry,
        outcome: given?.outcome ?? (made.get(entry) as EntryOutcome),
        attempt: job.attempt,
        firstAttemptedAtMs: job.firstAttemptedAtMs ?? given?.attemptedAtMs ?? startedMs,
        attemptedAtMs: given?.attemptedAtMs ?? startedMs,
        isMain: job.isMain,
        pausedFor: job.pausedFor,
      }));
    },
  };
}

/** Delivers the events of a job that have no outcome yet; resolves to one for each, in their order. */
function createOpenDelivery(options: AttemptOptions) {
  const { adapter, table, ring, baseUrl, logger } = options;
  const tokens = createTokens(TOKENS_MAX);
  const noticeChange = createChangeNotice(options);

  return async (
    job: SiteJob,
    open: readonly OpenEvent[],
    startedMs: number,
    stopping: () => boolean,
  ): Promise<EntryOutcome[]> => {
    const entries = open.map(({ entry }) => entry);
    if (entries.length === 0) return [];
    const site = table.site(job.siteId);
    const target = targetOf(job);
    const destination = table.destination(job.siteId, job.destination);
    if (site === undefined || destination === undefined) return entries.map(() => skipped('no_destination'));
    noticeChange(destination);
    if (!destination.enabled) return entries.map(() => skipped('destination_disabled'));
    const isOnSlowTopic = job.source.topic === slowTopic(adapter.name);
    if (!isOnSlowTopic && options.slow.isSlow(target)) return entries.map(slowed);
    const workMs = isOnSlowTopic ? SLOW_WORK_MS : WORK_MS;
    const work = boundWork(options.isAlone() ? Number.POSITIVE_INFINITY : workMs, options.monotonicMs, stopping);
    const { settings } = destination;
    const secrets = openDestinationSecrets(ring, destination, (field, code) =>
      logger.error({ site: job.siteId, destination: job.destination, field, code }, 'secret cannot be decrypted'),
    );
    const outcomes = await skippingEarly(entries, isEarlyLeftOut(job, destination) ? destination : null, (wanted) =>
      deliver(
        {
          ...{ adapter, destination: job.destination, site, settings, secrets, baseUrl },
          rules: destination.rules ?? [],
          ...{ entries: wanted, attempt: job.attempt, nowMs: startedMs },
        },
        deliveryPorts(options, tokens, job, open, work),
      ),
    );
    if (!work.isLate() || !outcomes.some(isHandedOver)) return outcomes;
    options.slow.late(target);
    return outcomes.map((outcome) => (isHandedOver(outcome) ? slowed() : outcome));
  };
}

/**
 * How long after the first call of a job further ones are begun. What is left then goes to the retry topic of slow sites, as the
 * others of a batch wait for it: the time counts from the first call, so that nobody is late who waited for others' turns.
 */
const WORK_MS = 2_000;
const SLOW_WORK_MS = 10_000;

function boundWork(forMs: number, monotonicMs: () => number, stopping: () => boolean) {
  let untilMs: number | null = null;
  const isOver = (): boolean => untilMs !== null && monotonicMs() >= untilMs;
  return {
    called(beganMs: number): void {
      untilMs ??= beganMs + forMs;
    },
    stopping: (): boolean => stopping() || isOver(),
    /** Whether what was not begun waits for the site alone. */
    isLate: (): boolean => isOver() && !stopping(),
  };
}

/** A site whose settings or secrets were changed is tried at once, whatever its breaker held of the old ones. */
function createChangeNotice({ adapter, breakers, rejections }: AttemptOptions): (destination: Destination) => void {
  const known = new Map<string, Destination>();
  return (destination) => {
    const target = targetKey(destination.site_id, destination.name);
    const before = known.get(target);
    if (before === destination) return;
    known.set(target, destination);
    if (before === undefined) return;
    breakers.reset(adapter.name, target);
    rejections.reset(target);
  };
}

/** A replay sends what was received before too; but what waits for a destination that was deleted is not for one of its id made since. */
function isEarlyLeftOut({ isMain, firstAttemptedAtMs, askedAtMs }: SiteJob, { created_at }: Destination): boolean {
  const sinceMs = firstAttemptedAtMs ?? askedAtMs;
  return isMain || (sinceMs !== null && sinceMs < (created_at ?? 0));
}

/**
 * Skips what was received before the destination was made: its group may have begun to read long before, or begins
 * with all that the topic holds. Whoever wants those replays them.
 */
async function skippingEarly(
  entries: EventEntry[],
  destination: Destination | null,
  send: (wanted: EventEntry[]) => Promise<EntryOutcome[]>,
): Promise<EntryOutcome[]> {
  const fromMs = destination?.created_at ?? 0;
  const wanted = entries.filter(({ event }) => event.received_at >= fromMs);
  const outcomes = wanted.length === 0 ? [] : await send(wanted);
  if (wanted.length === entries.length) return outcomes;
  const sent = new Map(wanted.map((entry, index) => [entry, outcomes[index] as EntryOutcome]));
  return entries.map((entry) => sent.get(entry) ?? skipped('before_destination'));
}
