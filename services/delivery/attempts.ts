import type { Egress } from '#infra/egress/send.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { KeyRing } from '#infra/secrets/key_ring.ts';
import { openSecret } from '#infra/secrets/seal.ts';
import { createTokens } from '#pipelines/delivery/access_tokens.ts';
import type { BreakerPort, Breakers } from '#pipelines/delivery/breakers.ts';
import type { Adapter, EntryOutcome } from '#pipelines/delivery/contract.ts';
import { deliver } from '#pipelines/delivery/deliver.ts';
import type { DeliveryPorts, Shortfall } from '#pipelines/delivery/delivery_run.ts';
import { skipped } from '#pipelines/delivery/outcomes.ts';
import type { Refusals } from '#pipelines/delivery/refusals.ts';
import type { Turns } from '#pipelines/delivery/turns.ts';
import type { Place, UncommittedOutcomes } from '#pipelines/delivery/uncommitted.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { EventEntry } from '#schemas/event.ts';
import { decodeEntry, type EntryView } from '#schemas/event_batch.ts';
import type { Destination } from '#schemas/setting.ts';
import type { JobEvent, SiteJob } from './job_intake.ts';
import type { OutageWatch } from './outage_watch.ts';

/** What an attempt made of one event. */
export interface Attempted {
  siteId: string;
  /** Offset of the record it was read from. */
  offset: number;
  view: EntryView;
  entry: EventEntry;
  outcome: EntryOutcome;
  attempt: number;
  firstAttemptedAtMs: number;
  attemptedAtMs: number;
}

export interface AttemptOptions {
  adapter: Adapter;
  baseUrl: string | null;
  table: SettingsTable;
  ring: KeyRing;
  breakers: Breakers;
  refusals: Refusals;
  turns: Turns;
  watch: Pick<OutageWatch, 'trouble' | 'report'>;
  egress: Egress;
  uncommitted: Pick<UncommittedOutcomes, 'of' | 'keep'>;
  /** Told how many of a call's events a platform did not take without saying which. */
  fellShort(events: number): void;
  logger: Logger;
  nowMs(): number;
}

export interface Attempts {
  /** @param stopping whether no further call is to be begun. */
  make(job: SiteJob, stopping: () => boolean): Promise<Attempted[]>;
}

/** An event without an outcome. */
interface OpenEvent extends JobEvent {
  entry: EventEntry;
}

/** Short-lived tokens kept at the most, one for each site whose destination needs one. */
const TOKENS_MAX = 10_000;

/** Makes attempts with the site's settings as they are now. */
export function createAttempts(options: AttemptOptions): Attempts {
  const { adapter, table, nowMs } = options;
  const known = new Map<string, Destination>();
  const tokens = createTokens(TOKENS_MAX);

  /** A site whose settings or secrets were changed is tried at once, whatever its breaker held of the old ones. */
  function noticeChange(destination: Destination): void {
    const before = known.get(destination.site_id);
    if (before === destination) return;
    known.set(destination.site_id, destination);
    if (before === undefined) return;
    options.breakers.reset(adapter.name, destination.site_id);
    options.refusals.reset(destination.site_id);
  }

  return {
    async make(job, stopping) {
      const startedMs = nowMs();
      const events = job.events.map((event) => ({
        ...event,
        entry: decodeEntry(event.view),
        given: options.uncommitted.of(job.source, event),
      }));
      const open = events.filter(({ given }) => given === null);
      const outcomes = await attempt(options, job, open, startedMs, stopping);
      const made = new Map(open.map(({ entry }, index) => [entry, outcomes[index] as EntryOutcome]));
      return events.map(({ view, offset, entry, given }) => ({
        siteId: job.siteId,
        offset,
        view,
        entry,
        outcome: given?.outcome ?? (made.get(entry) as EntryOutcome),
        attempt: job.attempt,
        firstAttemptedAtMs: job.firstAttemptedAtMs ?? given?.attemptedAtMs ?? startedMs,
        attemptedAtMs: given?.attemptedAtMs ?? startedMs,
      }));
    },
  };

  /** From the main topic a site in trouble is not probed: its lanes do that, and no other site waits for the answer. */
  function breakerFor({ siteId, isMain }: SiteJob): BreakerPort {
    const breaker = options.breakers.of(adapter.name, siteId);
    return {
      ask: () => options.watch.trouble() ?? (isMain ? breaker.trouble() : null) ?? breaker.ask(),
      report(health, isShared) {
        breaker.report(health);
        if (isShared) options.watch.report(siteId, health);
      },
    };
  }

  /** What is paused has been judged by nobody, and is not kept. */
  function keeping({ source }: SiteJob, open: readonly OpenEvent[]): DeliveryPorts['answered'] {
    const places = new Map<EventEntry, Place>(open.map((event) => [event.entry, event]));
    const attemptedAtMs = nowMs();
    return (entry, outcome) => {
      const place = places.get(entry);
      if (outcome.outcome === 'paused' || place === undefined) return;
      options.uncommitted.keep(source, place, { outcome, attemptedAtMs });
    };
  }

  function notice({ siteId }: SiteJob, { sent, taken, detail }: Shortfall): void {
    const facts = { site: siteId, destination: adapter.name, sent, taken, detail };
    options.logger.warn(facts, 'fewer events were taken than sent');
    options.fellShort(sent - taken);
  }

  async function attempt(
    { ring, egress, baseUrl, logger, turns }: AttemptOptions,
    job: SiteJob,
    open: readonly OpenEvent[],
    startedMs: number,
    stopping: () => boolean,
  ): Promise<EntryOutcome[]> {
    const entries = open.map(({ entry }) => entry);
    if (entries.length === 0) return [];
    const site = table.site(job.siteId);
    const destination = table.destination(job.siteId, adapter.name);
    if (site === undefined || destination === undefined) return entries.map(() => skipped('no_destination'));
    noticeChange(destination);
    if (!destination.enabled) return entries.map(() => skipped('destination_disabled'));
    const secrets = openSecrets(ring, destination, logger);
    return skippingEarly(entries, job.isMain ? destination : null, (wanted) =>
      deliver(
        {
          adapter,
          site,
          settings: destination.settings,
          secrets,
          baseUrl,
          entries: wanted,
          attempt: job.attempt,
          nowMs: startedMs,
        },
        {
          ...{ send: egress.send, nowMs, turns, tokens, stopping },
          breaker: breakerFor(job),
          refusals: options.refusals.of(job.siteId),
          answered: keeping(job, open),
          fellShort: (shortfall) => notice(job, shortfall),
        },
      ),
    );
  }
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

/** Secrets that open. One that does not is missing then, which pauses the site's destination and says so. */
function openSecrets(ring: KeyRing, destination: Destination, logger: Logger): Record<string, string> {
  const opened: Record<string, string> = {};
  for (const [field, sealed] of Object.entries(destination.secrets)) {
    const place = { siteId: destination.site_id, destination: destination.name, field };
    const result = openSecret(ring, place, sealed);
    if (result.ok) opened[field] = result.value;
    else
      logger.error(
        { site: place.siteId, destination: place.destination, field, code: result.code },
        'secret does not open',
      );
  }
  return opened;
}
