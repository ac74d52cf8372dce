// What a delivery reaches outside itself: egress, breakers, tokens, outcomes; the watch over outages; and the spans of calls.
import type { Egress } from '#infra/egress/send.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { OpenSpan, SpanAttributes } from '#infra/tracing/tracer.ts';
import {
  AVAILABLE,
  afterEmptyProbe,
  type BreakerPort,
  type Breakers,
  type Health,
  type Outage,
  type OutageConfig,
  type OutagePermit,
  outagePermit,
  type Permit,
  type RejectionTracker,
  recordOutage,
} from '#pipelines/delivery/breaker.ts';
import type { SiteConcurrencyLimiter, SlowSites } from '#pipelines/delivery/concurrency.ts';
import type { Answer, HttpRequest, SerializedEvent } from '#pipelines/delivery/contract.ts';
import type { DeliveryPorts, Place, TokenStore, UncommittedOutcomes } from '#pipelines/delivery/delivery_run.ts';
import type { EventEntry } from '#schemas/event.ts';
import type { Destination } from '#schemas/setting.ts';
import type { CarriedTrace } from '#schemas/trace_context.ts';
import type { BatchSpans } from '#services/stage/batch_spans.ts';
import type { Attempted } from './attempts.ts';
import { type JobEvent, type SiteJob, targetOf } from './job_reader.ts';
import { isSilent } from './output.ts';

/** What the calls of a destination share over all its sites. */
export interface SharedByCalls {
  adapter: { readonly name: string };
  breakers: Breakers;
  rejections: RejectionTracker;
  turns: SiteConcurrencyLimiter;
  watch: Pick<OutageWatch, 'trouble' | 'report'>;
  slow: SlowSites;
  /** Whether it is the only destination of the only site, for which no other waits. */
  isAlone(): boolean;
  /** Told where a destination of a site, by its `targetKey`, takes events again. */
  returned(target: string): void;
  egress: Egress;
  uncommitted: Pick<UncommittedOutcomes, 'of' | 'keep'>;
  /** Told how many of a call's events a platform did not take without saying which. */
  onPartialSuccess(events: number): void;
  logger: Logger;
  /** Milliseconds since 1970 UTC. */
  nowMs(): number;
  monotonicMs(): number;
}

/** An event without an outcome. */
export interface OpenEvent extends JobEvent {
  entry: EventEntry;
}

/** What the delivery of a site's open events reaches outside itself. */
export function deliveryPorts(
  shared: SharedByCalls,
  tokens: TokenStore,
  job: SiteJob,
  open: readonly OpenEvent[],
  { stopping, called }: { stopping(): boolean; called(beganMs: number): void },
): DeliveryPorts {
  return {
    async send(request, timeoutMs, sent) {
      const beganMs = shared.monotonicMs();
      called(beganMs);
      const endSpans = beginCall(job, request, sent, shared.nowMs());
      const answer = await shared.egress.send(request, timeoutMs);
      endSpans?.(answer, shared.nowMs());
      shared.slow.took(targetOf(job), shared.monotonicMs() - beganMs);
      return answer;
    },
    nowMs: shared.nowMs,
    monotonicMs: shared.monotonicMs,
    turns: shared.turns,
    tokens,
    stopping,
    breaker: breakerFor(shared, job),
    rejections: shared.rejections.of(targetOf(job)),
    answered: keepOutcomes(shared, job, open),
    onPartialSuccess({ sent, taken, detail }) {
      const facts = { site: job.siteId, destination: job.destination, sent, taken, detail };
      shared.logger.warn(facts, 'destination accepted fewer events than sent');
      shared.onPartialSuccess(sent - taken);
    },
  };
}

/** Knows the calls under way: one that hangs is seen before its time is up. */
export function watchCalls(egress: Egress, nowMs: () => number): Egress & { oldestCallMs(): number } {
  const began = new Set<{ atMs: number }>();
  return {
    ...egress,
    async send(request, timeoutMs) {
      const call = { atMs: nowMs() };
      began.add(call);
      try {
        return await egress.send(request, timeoutMs);
      } finally {
        began.delete(call);
      }
    },
    /** 0 where none is. */
    oldestCallMs() {
      // In the order in which they began.
      const [oldest] = began;
      return oldest === undefined ? 0 : nowMs() - oldest.atMs;
    },
  };
}

/** From the main topic a site in trouble is not probed: its retry topics do that, and no other site waits for the answer. */
function breakerFor({ adapter, breakers, watch, returned }: SharedByCalls, job: SiteJob): BreakerPort {
  const { isMain } = job;
  const target = targetOf(job);
  const breaker = breakers.of(adapter.name, target);
  return {
    ask: () => watch.trouble() ?? (isMain ? breaker.trouble() : null) ?? breaker.ask(),
    report(health, isShared) {
      const wasInTrouble = breaker.trouble() !== null;
      breaker.report(health);
      if (wasInTrouble && breaker.trouble() === null) returned(target);
      if (isShared) watch.report(target, health);
    },
  };
}

/** Keeps each outcome until its offset is committed. What is paused has been judged by nobody, and is not kept. */
function keepOutcomes(
  { uncommitted, nowMs }: SharedByCalls,
  { source }: SiteJob,
  open: readonly OpenEvent[],
): DeliveryPorts['answered'] {
  const places = new Map<EventEntry, Place>(open.map((event) => [event.entry, event]));
  const attemptedAtMs = nowMs();
  return (entry, outcome) => {
    const place = places.get(entry);
    if (outcome.outcome === 'paused' || place === undefined) return;
    uncommitted.keep(source, place, { outcome, attemptedAtMs });
  };
}

export type OutageWatch = ReturnType<typeof watchOutage>;

interface OutageWatchOptions {
  destination: string;
  config: OutageConfig;
  breakers: Breakers;
  /** All of its kind, by site. */
  bySite: ReadonlyMap<string, readonly Pick<Destination, 'enabled'>[]>;
  logger: Logger;
  /** Monotonic milliseconds. */
  nowMs(): number;
  /** When that is by the time of day, which is what a batch that rests is given. */
  wallMsOf(ms: number): number;
}

/**
 * Watches whether this process's destination as a whole answers. While it is away its sites' breakers say nothing more, and
 * are forgotten.
 */
export function watchOutage(options: OutageWatchOptions) {
  const { destination, config, breakers, bySite, logger, nowMs, wallMsOf } = options;
  let outage: Outage = AVAILABLE;

  /** How many destinations of sites are delivered to; more than decide are not counted. */
  function countTargets(): number {
    let count = 0;
    for (const all of bySite.values()) {
      count += all.filter(({ enabled }) => enabled).length;
      if (count >= config.sitesMin) break;
    }
    return count;
  }

  function forgetSites(): void {
    for (const { siteId, breaker } of breakers.list()) {
      if (breaker.kind === 'closed' || breaker.cause === 'failing') breakers.reset(destination, siteId);
    }
  }

  function turnTo(next: Outage): void {
    const before = outage;
    outage = next;
    if (before.kind === 'here' && next.kind === 'away') {
      logger.warn({ destination, reason: next.reason }, 'destination unavailable, events wait in the main topic');
      forgetSites();
    } else if (before.kind === 'probing' && next.kind === 'away') forgetSites();
    else if (before.kind !== 'here' && next.kind === 'here')
      logger.info({ destination }, 'destination available again');
  }

  return {
    /** Whether a batch may be attempted now. */
    ask(): OutagePermit {
      const asked = outagePermit(outage, config, nowMs());
      outage = asked.outage;
      const { permit } = asked;
      return permit.kind === 'wait' ? { ...permit, notBeforeMs: wallMsOf(permit.notBeforeMs) } : permit;
    },
    /** @param target a destination of a site, by its `targetKey`: one that is refused says nothing of the site's others. */
    report: (target: string, health: Health): void =>
      turnTo(recordOutage(outage, config, { siteId: target, health, sites: countTargets() }, nowMs())),
    /** What a call has to wait for; null unless the destination is away. */
    trouble(): Extract<Permit, { kind: 'wait' }> | null {
      if (outage.kind !== 'away') return null;
      const waitMs = Math.max(0, outage.untilMs - nowMs());
      return { kind: 'wait', cause: 'failing', reason: outage.reason, waitMs };
    },
    isAway: (): boolean => outage.kind !== 'here',
    /**
     * When a batch is to be looked at again that could not be delivered, by the time of day; null unless the destination is
     * away.
     */
    awayUntilMs: (): number | null => (outage.kind === 'away' ? wallMsOf(outage.untilMs) : null),
    /** A probe is over, whatever it brought; whether anything was held back by a site's breaker. */
    probed(heldBack: boolean): void {
      outage = afterEmptyProbe(outage, config, heldBack, nowMs());
    },
  };
}

const CLIENT_ERROR = 400;

/** What ends the spans of a call, one for each trace that it is for; null where it is for none. */
export function beginCall(
  { spans, siteId, destination, attempt }: Pick<SiteJob, 'spans' | 'siteId' | 'destination' | 'attempt'>,
  { method, url }: HttpRequest,
  sent: readonly Pick<SerializedEvent, 'entry'>[],
  startMs: number,
): ((answer: Answer, endMs: number) => void) | null {
  if (spans === null) return null;
  const traces = new Set(sent.map(({ entry }) => spans.of(entry.coordinate)).filter((trace) => trace !== undefined));
  if (traces.size === 0) return null;
  const attributes = {
    'http.request.method': method,
    // Of an address no more than its host: what stands behind it may be a secret.
    'server.address': URL.parse(url)?.hostname ?? '',
    ...(attempt > 1 ? { 'http.request.resend_count': attempt - 1 } : {}),
    'svc.destination': destination,
    'svc.site': siteId,
  };
  const calls = [...traces].map(
    ({ context }): OpenSpan => spans.start({ name: method, kind: 'client', startMs, attributes, parent: context }),
  );
  return (answer, endMs) => {
    const status = answer.kind === 'answered' ? answer.status : null;
    const error = answer.kind === 'answered' ? null : answer.reason;
    const failure = error ?? (status !== null && status >= CLIENT_ERROR ? String(status) : undefined);
    for (const call of calls) call.end(endMs, status === null ? {} : { 'http.response.status_code': status }, failure);
  };
}

/** What came of each trace's events; null of those that the destination has nothing to do with. */
export function outcomesOf(spans: BatchSpans, attempted: readonly Attempted[]) {
  const outcomes = new Map<CarriedTrace, Set<string>>();
  for (const one of attempted) {
    const trace = spans.of(one.entry.coordinate);
    if (trace === undefined || isSilent(one)) continue;
    const { outcome, reason } = one.outcome;
    outcomes.set(trace, (outcomes.get(trace) ?? new Set()).add(reason === '' ? outcome : `${outcome}: ${reason}`));
  }
  return (trace: CarriedTrace): SpanAttributes | null => {
    const found = outcomes.get(trace);
    return found === undefined ? null : { 'svc.outcomes': [...found] };
  };
}
