import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { Row } from './tables.ts';

/**
 * Events of a refill that make no row, as whoever they are about was erased. What other tables say of them is found by such rows: an
 * erasure that is carried out once more would not find it.
 */
export function createErasedEvents() {
  const places = new Set<string>();
  return {
    note({ eventId, coordinate }: Pick<EncodedEvent, 'eventId' | 'coordinate'>): void {
      if (coordinate !== null) places.add(placeOf(eventId, coordinate.partition, coordinate.offset, coordinate.index));
    },
    /** Whether a row of `delivery_outcomes` or `duplicates` is about one of them. */
    isAbout(row: Row): boolean {
      if (places.size === 0) return false;
      const of = row as Readonly<Record<string, unknown>>;
      return (['coordinate', 'first'] as const).some((by) =>
        places.has(placeOf(of['event_id'], of[`${by}_partition`], of[`${by}_offset`], of[`${by}_index`])),
      );
    },
  };
}

const placeOf = (...facts: unknown[]): string => facts.join('/');
