// From a row of another product's export to a historical event.

import { mapPosthogEvent } from '#pipelines/intake/compat/posthog.ts';
import { mapExportedEvent } from '#pipelines/intake/ga4/exported_event.ts';
import { canonicalJson, firstGiven } from '#pipelines/intake/json_text.ts';
import { readForeignTime } from '#pipelines/intake/timestamp.ts';
import { isObject, type JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { objectIn } from '../read.ts';
import type { OutgoingEvent, RowKey, RowOutcome, RowProblem } from './row_event.ts';

/** Whose export a file is; `ndjson`: events as POST /v1/ingest takes them. */
export const HISTORY_FORMATS = ['posthog', 'ga4', 'ndjson'] as const;
export type HistoryFormat = (typeof HISTORY_FORMATS)[number];

/**
 * The event of a row, at its own time, and by what it is known again: the id that it has, or else what it says and, of equal ones
 * in a file, which it is.
 *
 * @param raw A line of JSON.
 */
export function historicalEvent(raw: Buffer, format: HistoryFormat, site: string): RowOutcome {
  const row = objectIn(raw.toString('utf8').replace(/^\uFEFF/, ''));
  if (row === null) return failed('row_unreadable');
  const event = READERS[format](row);
  if (typeof event === 'string') return failed(event);
  const { event: name, distinct_id: distinctId, uuid, properties, timestamp } = event;
  if (typeof name !== 'string' || name.trim() === '') return failed('event_missing');
  if (firstGiven(timestamp) === undefined) return failed('time_missing');
  const timeMs = readForeignTime(timestamp);
  if (timeMs === null) return failed('time_unreadable');
  const said: Omit<OutgoingEvent, 'uuid'> = {
    event: name,
    timestamp: new Date(timeMs).toISOString(),
    ...(typeof distinctId === 'string' ? { distinct_id: distinctId } : {}),
    properties: isObject(properties) ? properties : {},
  };
  return { ok: true, event: said, key: keyOf(uuid, said, event['row'], site), timeMs };
}

const failed = (problem: RowProblem): RowOutcome => ({ ok: false, problem, column: null });

function keyOf(uuid: unknown, event: Omit<OutgoingEvent, 'uuid'>, row: unknown, site: string): RowKey {
  if (typeof uuid === 'string' && uuid.trim() !== '') return { by: 'uuid', uuid };
  return { by: 'contents', contents: canonicalJson([site, 'history', event, row]) };
}

/** What is read of a row, in the form of POST /v1/ingest; `row` tells rows apart that say the same. */
const READERS: Readonly<Record<HistoryFormat, (row: JsonObject) => JsonObject | RowProblem>> = {
  posthog(row) {
    const sent = {
      ...row,
      properties: parsed(row['properties']),
      $set: firstGiven(row['$set'], parsed(row['set'])),
      $set_once: firstGiven(row['$set_once'], parsed(row['set_once'])),
    };
    const mapped = mapPosthogEvent(sent, { caller: 'server', receivedAtMs: 0, sentAtMs: null });
    return mapped.ok && isObject(mapped.event) ? mapped.event : 'row_unreadable';
  },
  ga4(row) {
    const mapped = mapExportedEvent(row);
    if (!mapped.ok) return mapped.problem === 'client_id_missing' ? 'visitor_missing' : 'row_unreadable';
    // Google adds attribution to rows of the last three days, but leaves these as they are.
    return { ...mapped.event, row: [row['batch_page_id'], row['batch_ordering_id'], row['batch_event_index']] };
  },
  ndjson: (row) => ({ ...row, uuid: firstGiven(row['uuid'], row['event_id']), properties: parsed(row['properties']) }),
};

/** Exports of tables have an object as the text of its JSON. */
const parsed = (value: unknown): unknown => (typeof value === 'string' ? (objectIn(value) ?? undefined) : value);
