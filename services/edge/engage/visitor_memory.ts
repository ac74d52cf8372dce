// What is remembered of visitors and their submissions, where Redis may be away.
import type { Metrics } from '#infra/metrics/metrics.ts';
import type { CountedSubmission, EngageGuard, EngageMemoryStore, Impression } from '#infra/redis/engage/engage.ts';
import type { EngageMemory } from '#pipelines/engage/decide.ts';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import { siteEngage } from '#pipelines/engage/site_engage.ts';
import type { SpamCounts, SpamReason } from '#pipelines/engage/spam.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Event } from '#schemas/event.ts';
import { noteNothing } from '../site_activity.ts';

/** What visitors saw and did, where Redis may be away. */
export interface EngageMemories {
  /** Null where it is not known: then the browser's memory decides. */
  read(siteId: string, distinctId: string): Promise<EngageMemory | null>;
  /** Nobody waits for it. */
  note(siteId: string, distinctId: string, notes: readonly Impression[]): void;
}

/** Notes under way at a time; beyond these one is not made. */
const NOTING_MAX = 10_000;

/** A Redis that does not answer is counted and stops nothing. */
export function createEngageMemories(store: EngageMemoryStore, metrics: Metrics, nowMs: () => number): EngageMemories {
  const failed = metrics.counter(
    'svc_edge_engage_unremembered_total',
    'Times that what a visitor saw or did could not be read or noted',
    ['of'],
  );
  let noting = 0;
  return {
    async read(siteId, distinctId) {
      try {
        return await store.read(siteId, distinctId);
      } catch {
        failed.inc({ of: 'read' });
        return null;
      }
    },
    note(siteId, distinctId, notes) {
      if (noting >= NOTING_MAX) return failed.inc({ of: 'note' });
      noting += 1;
      store
        .note(siteId, distinctId, notes, nowMs())
        .catch(() => failed.inc({ of: 'note' }))
        .finally(() => {
          noting -= 1;
        });
    },
  };
}

/** What is known of submissions over all edges, where Redis may be away, and what was found to be spam. */
export interface SpamWatch {
  /** Null where nobody could be asked: then a submission is judged by itself alone. */
  count(submission: CountedSubmission): Promise<SpamCounts | null>;
  found(kind: EngageKind, reason: SpamReason): void;
  challenged(): void;
}

export function createSpamWatch(guard: EngageGuard, metrics: Metrics): SpamWatch {
  const spam = metrics.counter('svc_edge_engage_spam_total', 'Submissions that were taken for spam', [
    'kind',
    'reason',
  ]);
  const challenges = metrics.counter('svc_edge_engage_challenges_total', 'Submissions answered with a challenge', []);
  const unguarded = metrics.counter(
    'svc_edge_engage_unguarded_total',
    'Submissions that could not be compared with those before',
    [],
  );
  return {
    async count(submission) {
      try {
        return await guard.count(submission);
      } catch {
        unguarded.inc();
        return null;
      }
    },
    found: (kind, reason) => spam.inc({ kind, reason }),
    challenged: () => challenges.inc(),
  };
}

const DAY_MS = 86_400_000;

/**
 * Notes what visitors did and when, of the events that audiences of their site ask for, and of no event that happened
 * before the days that any of them looks back. An event that is sent twice counts twice here, as dedup comes later.
 */
export function createAudienceNotes(
  table: SettingsTable,
  memory: EngageMemories,
): (siteId: string, events: readonly Event[]) => () => void {
  return (siteId, events) => {
    const { audienceEvents } = siteEngage(table.engageItems(siteId));
    if (audienceEvents.size === 0) return noteNothing;
    const wanted = events.filter((event) => isWithin(event, audienceEvents.get(event.event)));
    // Names and times alone, so that no event is kept alive until Kafka has it.
    const all = [...Map.groupBy(wanted, (event) => event.distinct_id)].map(([distinctId, own]) => ({
      distinctId,
      done: own.map((event) => ({ kind: 'event' as const, name: event.event, atMs: happenedMs(event) })),
    }));
    return () => {
      for (const { distinctId, done } of all) memory.note(siteId, distinctId, done);
    };
  };
}

function isWithin({ mode, timestamp, received_at }: Event, days: number | undefined): boolean {
  return days !== undefined && mode === 'online' && received_at - timestamp < days * DAY_MS;
}

/** Nothing has happened that is yet to come, whatever a visitor's clock says. */
const happenedMs = ({ timestamp, received_at }: Event): number => Math.min(timestamp, received_at);
