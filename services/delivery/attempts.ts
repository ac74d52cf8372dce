import type { Egress } from '#infra/egress/send.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { KeyRing } from '#infra/secrets/key_ring.ts';
import { openSecret } from '#infra/secrets/seal.ts';
import type { BreakerPort, Breakers } from '#pipelines/delivery/breakers.ts';
import type { Adapter, EntryOutcome } from '#pipelines/delivery/contract.ts';
import { deliver } from '#pipelines/delivery/deliver.ts';
import { skipped } from '#pipelines/delivery/outcomes.ts';
import { createTokens } from '#pipelines/delivery/tokens.ts';
import type { Turns } from '#pipelines/delivery/turns.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { EventEntry } from '#schemas/event.ts';
import { decodeEntry, type EntryView } from '#schemas/event_batch.ts';
import type { Destination } from '#schemas/setting.ts';
import type { SiteJob } from './intake.ts';
import type { OutageWatch } from './outage_watch.ts';

/** What an attempt made of one event. */
export interface Attempted {
  siteId: string;
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
  turns: Turns;
  watch: Pick<OutageWatch, 'trouble' | 'report'>;
  egress: Egress;
  logger: Logger;
  nowMs(): number;
}

export interface Attempts {
  make(job: SiteJob): Promise<Attempted[]>;
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
    if (before !== undefined) options.breakers.reset(adapter.name, destination.site_id);
  }

  return {
    async make(job) {
      const startedMs = nowMs();
      const entries = job.views.map(decodeEntry);
      const outcomes = await attempt(options, job, entries, startedMs);
      return entries.map((entry, index) => ({
        siteId: job.siteId,
        view: job.views[index] as EntryView,
        entry,
        outcome: outcomes[index] as EntryOutcome,
        attempt: job.attempt,
        firstAttemptedAtMs: job.firstAttemptedAtMs ?? startedMs,
        attemptedAtMs: startedMs,
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

  async function attempt(
    { ring, egress, baseUrl, logger, turns }: AttemptOptions,
    job: SiteJob,
    entries: EventEntry[],
    startedMs: number,
  ): Promise<EntryOutcome[]> {
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
        { send: egress.send, nowMs, breaker: breakerFor(job), turns, tokens },
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
