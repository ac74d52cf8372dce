import { siteEngage } from '#pipelines/engage/site_engage.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Event } from '#schemas/event.ts';
import type { EngageMemories } from './engage_memories.ts';

/**
 * Notes what visitors did, of the events that audiences of their site ask for. An event that is sent twice counts twice
 * here, as dedup comes later.
 */
export function createAudienceNotes(
  table: SettingsTable,
  memory: EngageMemories,
): (siteId: string, events: readonly Event[]) => void {
  return (siteId, events) => {
    const { audienceEvents } = siteEngage(table.engageItems(siteId));
    if (audienceEvents.size === 0) return;
    const wanted = events.filter((event) => audienceEvents.has(event.event) && event.mode === 'online');
    for (const [distinctId, own] of Map.groupBy(wanted, (event) => event.distinct_id)) {
      memory.note(
        siteId,
        distinctId,
        own.map((event) => ({ kind: 'event', name: event.event })),
      );
    }
  };
}
