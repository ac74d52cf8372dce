import { createBinder, type Statement } from './statement.ts';

/** An event at a destination, by its coordinate. */
export interface OutcomePlace {
  siteId: string;
  eventId: string;
  destination: string;
  partition: number;
  offset: number;
  index: number;
}

/** A row of the statement. */
export interface LetterOutcomeRow {
  site_id: string;
  destination: string;
  p: number;
  o: number;
  i: number;
  /** 1 where the destination has it. */
  delivered: number;
  /** Outcome of the newest attempt. */
  latest: string;
  /** When that was, in milliseconds since 1970 UTC. */
  latest_at: number;
}

/** Ids in one parameter, of which ClickHouse takes 128 KiB: an id is of 200 characters at the most. */
const IDS_MAX = 150;

/**
 * The statement of what the outcomes say of some events at their destinations; what was not attempted has no row. There was no
 * attempt before `sinceMs` (milliseconds since 1970 UTC). Rows: LetterOutcomeRow.
 */
export function letterOutcomesStatement(places: readonly OutcomePlace[], sinceMs: number): Statement {
  const { bind, statement } = createBinder();
  const distinct = (values: readonly string[]): string => bind([...new Set(values)], 'Array(String)');
  const ids = [...new Set(places.map(({ eventId }) => eventId))];
  const chunks = Array.from({ length: Math.ceil(ids.length / IDS_MAX) }, (_, at) =>
    ids.slice(at * IDS_MAX, (at + 1) * IDS_MAX),
  );
  // The index by_event_id finds them; their coordinates tell copies of one id apart.
  const isOneOf = chunks.map((some) => `event_id IN ${distinct(some)}`).join(' OR ');
  // Numbers of our own records, which are too many for a parameter each.
  const tuples = places.map(({ partition, offset, index }) => `(${partition},${offset},${index})`).join(',');
  return statement(`SELECT site_id, destination,
  coordinate_partition AS p, coordinate_offset AS o, coordinate_index AS i,
  max(outcome = 'delivered') AS delivered, toString(argMax(outcome, (attempted_at, attempt))) AS latest,
  toUnixTimestamp64Milli(max(attempted_at)) AS latest_at
FROM delivery_outcomes
WHERE site_id IN ${distinct(places.map(({ siteId }) => siteId))}
  AND destination IN ${distinct(places.map(({ destination }) => destination))}
  AND attempted_at >= fromUnixTimestamp64Milli(${bind(sinceMs, 'Int64')})
  AND (${isOneOf})
  AND (coordinate_partition, coordinate_offset, coordinate_index) IN (${tuples})
GROUP BY site_id, destination, p, o, i`);
}
