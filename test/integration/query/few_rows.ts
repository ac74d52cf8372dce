import type { FunnelQuery } from '#pipelines/analytics/funnels/query.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import type { EventRow } from '#pipelines/warehouse/block.ts';
import type { Event } from '#schemas/event.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';

export const START = Date.UTC(2026, 9, 5, 12);
const MINUTE_MS = 60_000;
let number = 0;

/** A row of the site `shop` some minutes after START; it arrives a second later. */
export function storedRow(distinctId: string, event: string, minute: number, changes: Partial<Event> = {}): EventRow {
  const timestamp = START + minute * MINUTE_MS;
  return eventRow({
    coordinate: { partition: 0, offset: number++, index: 0 },
    person: { person_id: basePersonId('shop', distinctId), identifiers: null },
    event: sampleEvent({
      event_id: `${distinctId}-${event}-${minute}`,
      distinct_id: distinctId,
      event,
      timestamp,
      received_at: timestamp + 1_000,
      ...changes,
    }),
  });
}

/** From a page view to a purchase, in October 2026, within a week. */
export const purchaseFunnel: FunnelQuery = {
  from: Date.UTC(2026, 9, 1),
  to: Date.UTC(2026, 10, 1),
  steps: [{ events: ['page_view'] }, { events: ['purchase'] }],
  window_ms: 7 * 86_400_000,
  fresh: true,
};
