import { decodeEvent } from '#schemas/event_batch.ts';
import type { Duplicate } from '#schemas/records.ts';
import type { DroppedEvent } from './dedup.ts';

/** Copies of one event that a transaction lists; what is beyond them is counted with the last. */
const LISTED_MAX = 5;

/** What is recorded of events that were dropped, in their order: of a storm of one event no more than a few copies. */
export function duplicatesOf(dropped: readonly DroppedEvent[]): Duplicate[] {
  const duplicates: Duplicate[] = [];
  const byEvent = new Map<string, { listed: number; last: Duplicate }>();
  for (const one of dropped) {
    const { siteId, eventId } = one.entry.view;
    const name = `${siteId}\n${eventId}`;
    const known = byEvent.get(name);
    if (known !== undefined && known.listed === LISTED_MAX) {
      known.last.times += 1;
      continue;
    }
    const last = duplicateOf(one);
    duplicates.push(last);
    byEvent.set(name, { listed: (known?.listed ?? 0) + 1, last });
  }
  return duplicates;
}

/** Name and key of an event, behind its head; null too where the rest of a copy is broken, which is dropped all the same. */
function toldIn(eventBytes: Buffer): Pick<Duplicate, 'event' | 'key_id'> {
  try {
    const { event, key_id = null } = decodeEvent(eventBytes);
    return { event, key_id };
  } catch {
    return { event: null, key_id: null };
  }
}

function duplicateOf({ entry: { view, coordinate }, first }: DroppedEvent): Duplicate {
  return {
    site_id: view.siteId,
    event_id: view.eventId,
    received_at: view.receivedAtMs,
    ...toldIn(view.eventBytes),
    raw_partition: coordinate.partition,
    raw_offset: coordinate.offset,
    raw_index: coordinate.index,
    first_partition: first.partition,
    first_offset: first.offset,
    first_index: first.index,
    times: 1,
  };
}
