import { siteEngage } from '#pipelines/engage/site_engage.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Event } from '#schemas/event.ts';
import type { EngageMemories } from './engage_memories.ts';

const DAY_MS = 86_400_000;

/**
 * Notes what visitors did and when, of the events that audiences of their site ask for, and of no event that happened
 * before the days that any of them looks back. An event that is sent twice counts twice here, as dedup comes later.
 */
export function createAudienceNotes(
  table: SettingsTable,
  memory: EngageMemories,
): (siteId: string, events: readonly Event[]) => void {
  return (siteId, events) => {
    const { audienceEvents } = siteEngage(table.engageItems(siteId));
    if (audienceEvents.size === 0) return;
    const wanted = events.filter((event) => isWithin(event, audienceEvents.get(event.event)));
    for (const [distinctId, own] of Map.groupBy(wanted, (event) => event.distinct_id)) {
      memory.note(
        siteId,
        distinctId,
        own.map((event) => ({ kind: 'event', name: event.event, atMs: happenedMs(event) })),
      );
    }
  };
}

function isWithin({ mode, timestamp, received_at }: Event, days: number | undefined): boolean {
  return days !== undefined && mode === 'online' && received_at - timestamp < days * DAY_MS;
}

/** Nothing has happened that is yet to come, whatever a visitor's clock says. */
const happenedMs = ({ timestamp, received_at }: Event): number => Math.min(timestamp, received_at);
