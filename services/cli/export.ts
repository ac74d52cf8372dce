// Exports the events of a site by time, in parts, through the SQL of the API: with its rights, limits and audit.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { SqlAnswer } from '#pipelines/analytics/answer_table.ts';
import { type ControlClient, ControlRefusal, ControlUnavailableError } from '#services/control_api/client.ts';
import { type Arguments, type Commands, done, option, requiredOption, siteOption, UsageError } from './command.ts';
import { readMoment } from './read.ts';

const EXPORT_FORMATS = ['ndjson', 'parquet'] as const;
type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Columns of `events` that are exported; the others say again what these say, or where a record lies in Kafka. */
export const EXPORT_COLUMNS = [
  'site_id event_id distinct_id person_id event timestamp received_at original_timestamp mode action_source caller',
  'identify email_sha256 phone_hmac first_name_sha256 last_name_sha256 external_id_sha256 city state zip country',
  'client_ip client_user_agent value currency order_id ad_storage analytics_storage ad_user_data ad_personalization',
  'consent_defaults limited_data_use geo_country geo_region geo_city browser browser_version os os_version device_type',
  'language screen_class historical properties',
].flatMap((names) => names.split(' '));

/** What is exported: events that happened in a time, its end left out. */
export interface ExportPlan {
  site: string;
  /** The time as it was said: `30d` and `now` mean when the export began. */
  said: { from: string; to: string };
  fromMs: number;
  toMs: number;
  format: ExportFormat;
  columns: readonly string[];
}

/** How far an export is, beside its parts. */
interface Exported extends ExportPlan {
  parts: number;
  rows: number;
  /** The last event that a part holds; null before the first. */
  after: Place | null;
  /** Up to then parts hold all events, but for those behind `after` at its very moment. */
  next_ms: number;
  is_finished: boolean;
}

/** Events are in the order of their time, those of the same by id. */
interface Place {
  timeMs: number;
  eventId: string;
}

export interface ExportPorts {
  client: Pick<ControlClient, 'query' | 'queryFile'>;
  say(line: string): void;
  sleep(ms: number): Promise<void>;
  /** Rows of a part, before it is known what the service bears. */
  rowsFirst?: number;
}

const STATE = 'export.json';
const ROWS_FIRST = 5_000;
const ROWS_MAX = 50_000;
const HOUR_MS = 3_600_000;
const SPAN_MS_MAX = 31 * 24 * HOUR_MS;

/**
 * Writes the parts that are not there yet. One that was written stays as it is: events that arrive later with an earlier time are
 * not exported.
 *
 * @throws UsageError for a folder that holds another export; ControlRefusal where the caller may not ask
 */
export async function exportEvents(plan: ExportPlan, folder: string, ports: ExportPorts): Promise<Exported> {
  mkdirSync(folder, { recursive: true });
  let state = openState(plan, folder);
  const { toMs } = state;
  if (state.is_finished) {
    ports.say(`it was finished before, up to ${new Date(toMs).toISOString()}: name another folder for later events`);
  }
  let [rowsMax, ceiling] = [ports.rowsFirst ?? ROWS_FIRST, ROWS_MAX];
  let spanMs = HOUR_MS;
  while (!state.is_finished) {
    const startMs = state.next_ms;
    const endMs = Math.min(toMs, startMs + spanMs);
    try {
      const page = { fromMs: startMs, toMs: endMs, after: state.after };
      const found = await lastOf(plan.site, page, rowsMax, ports);
      if (found.rows > 0) {
        const part = await partOf(plan, { ...page, last: found.last }, ports);
        const { parts, rows } = state;
        state = { ...state, parts: parts + 1, rows: rows + found.rows, after: found.last, next_ms: found.last.timeMs };
        write(join(folder, partName(state)), part);
        ports.say(`${partName(state)}: ${state.rows} events, up to ${new Date(found.last.timeMs).toISOString()}`);
      }
      if (found.rows < rowsMax) {
        if (found.rows < rowsMax / 2) spanMs = Math.min(SPAN_MS_MAX, spanMs * 2);
        state = { ...state, next_ms: endMs, is_finished: endMs === toMs };
      }
      rowsMax = Math.min(ceiling, rowsMax * 2);
    } catch (error) {
      if (!(error instanceof ControlRefusal) || error.code !== 'query_too_heavy') throw error;
      if (rowsMax === 1 && spanMs === 1) throw error;
      rowsMax = Math.max(1, Math.floor(rowsMax / 2));
      ceiling = rowsMax;
      spanMs = Math.max(1, Math.floor(spanMs / 2));
      continue;
    }
    write(join(folder, STATE), `${JSON.stringify(state, null, 2)}\n`);
  }
  return state;
}

function openState(plan: ExportPlan, folder: string): Exported {
  const path = join(folder, STATE);
  const state: Exported = { ...plan, parts: 0, rows: 0, after: null, next_ms: plan.fromMs, is_finished: false };
  if (!existsSync(path)) return state;
  const before = JSON.parse(readFileSync(path, 'utf8')) as Exported;
  const { fromMs, toMs } = before;
  if (isDeepStrictEqual({ ...plan, fromMs, toMs }, planIn(before))) return before;
  throw new UsageError('folder_taken', `${folder} holds another export: name another folder`);
}

const planIn = ({ site, said, fromMs, toMs, format, columns }: Exported): ExportPlan => ({
  site,
  said,
  fromMs,
  toMs,
  format,
  columns,
});

const partName = ({ parts, format }: Exported): string => `part-${String(parts).padStart(6, '0')}.${format}`;

/** Whole or not at all, whenever the process ends. */
function write(path: string, content: string | Uint8Array): void {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}

interface Page {
  fromMs: number;
  toMs: number;
  after: Place | null;
}

const moment = (ms: number): string => `fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC')`;
const place = ({ timeMs, eventId }: Place): string => `(${moment(timeMs)}, ${quoted(eventId)})`;
/** Ids are the senders': they may hold anything. */
const quoted = (text: string): string => `'${text.replaceAll(/[\\']/g, '\\$&')}'`;

function wanted({ fromMs, toMs, after }: Page): string {
  const behind = after === null ? '' : ` AND (timestamp, event_id) > ${place(after)}`;
  return `timestamp >= ${moment(fromMs)} AND timestamp < ${moment(toMs)}${behind}`;
}

/** How many events the next part has, and which is its last. */
async function lastOf(site: string, page: Page, rowsMax: number, ports: ExportPorts) {
  const sql = `SELECT count(), toUnixTimestamp64Milli(max(timestamp)), argMax(event_id, (timestamp, event_id)) FROM (
  SELECT timestamp, event_id FROM events WHERE ${wanted(page)} ORDER BY timestamp, event_id LIMIT ${rowsMax})`;
  const { rows } = await retried(() => ports.client.query<SqlAnswer>(site, 'sql', { sql }), ports);
  const [count = 0, timeMs = 0, eventId = ''] = (rows[0] ?? []) as [number?, number?, string?];
  return { rows: Number(count), last: { timeMs: Number(timeMs), eventId } };
}

async function partOf(
  plan: ExportPlan,
  page: Page & { last: Place },
  ports: ExportPorts,
): Promise<string | Uint8Array> {
  const { site, columns, format } = plan;
  const sql = `SELECT ${columns.join(', ')} FROM events
WHERE ${wanted(page)} AND (timestamp, event_id) <= ${place(page.last)} ORDER BY timestamp, event_id`;
  if (format === 'parquet') return retried(() => ports.client.queryFile(site, 'sql', { sql }, format), ports);
  return linesOf(await retried(() => ports.client.query<SqlAnswer>(site, 'sql', { sql }), ports));
}

/** Rows as lines of JSON: times in ISO 8601, properties as the object that they are. */
export function linesOf({ columns, rows }: SqlAnswer): string {
  const readers = columns.map(({ name, type }) => {
    if (type.startsWith('DateTime64')) return (value: unknown) => `${String(value).replace(' ', 'T')}Z`;
    if (name === 'properties') return (value: unknown): unknown => JSON.parse(String(value));
    return (value: unknown) => value;
  });
  const lines = rows.map((row) =>
    JSON.stringify(Object.fromEntries(columns.map(({ name }, at) => [name, readers[at]?.(row[at])]))),
  );
  return lines.map((line) => `${line}\n`).join('');
}

const ATTEMPTS_MAX = 8;
const PAUSE_MS = 1_000;

/** Asks again where the service is away or busy. */
async function retried<T>(ask: () => Promise<T>, { sleep, say }: ExportPorts): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      const isBusy = error instanceof ControlRefusal && error.code === 'query_busy';
      if ((!isBusy && !(error instanceof ControlUnavailableError)) || attempt === ATTEMPTS_MAX) throw error;
      say(`${error.code}: asked again`);
      await sleep(PAUSE_MS * attempt);
    }
  }
}

export const exportCommands: Commands = {
  'export run': {
    isDefault: true,
    summary: 'Write the events of a site into files, in parts; the verb may be left out',
    options: [
      siteOption,
      requiredOption('from <WHEN>', 'Events since then: a date, a time with its offset, or 30d (ago)'),
      option('to <WHEN>', 'The end, which is not part of it (now)'),
      option('format <FORMAT>', 'Of the files (ndjson)').choices([...EXPORT_FORMATS]),
      requiredOption('out <FOLDER>', 'Where they are written; the same command goes on there'),
      option('columns <NAMES>', 'Only these columns, separated by commas'),
    ],
    examples: [
      'export --site shop --from 2027-01-01 --to 2027-02-01 --out january',
      'export --site shop --from 30d --to now --format parquet --out last --columns event_id,event,timestamp,value',
    ],
    async run(args, { client, nowMs, watch }) {
      const folder = args.required('out');
      const state = await exportEvents(planOf(args, nowMs), folder, { client, ...watch });
      return done(`${state.rows} events in ${state.parts} files in ${folder}.`, state);
    },
  },
};

function planOf(args: Arguments, nowMs: number): ExportPlan {
  const said = { from: args.required('from'), to: args.text('to') ?? 'now' };
  const fromMs = readMoment(said.from, 'from', nowMs);
  const toMs = readMoment(said.to, 'to', nowMs);
  if (fromMs >= toMs) throw new UsageError('range_empty', '--from is not before --to');
  const columns = args.text('columns')?.split(',') ?? EXPORT_COLUMNS;
  const unknown = columns.find((name) => !EXPORT_COLUMNS.includes(name));
  if (unknown !== undefined) {
    throw new UsageError('column_unknown', `there is no column ${unknown}; there are: ${EXPORT_COLUMNS.join(', ')}`);
  }
  const format = (args.text('format') as ExportFormat | undefined) ?? 'ndjson';
  return { site: args.required('site'), said, fromMs, toMs, format, columns };
}
