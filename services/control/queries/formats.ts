// Formats of an answer to a query: JSON, CSV, Parquet, and which one a request asks for.

import { type Static, Type } from 'typebox';
import type { WriteParquet } from '#infra/clickhouse/parquet.ts';
import { type AnswerTable, answerTable, csvOf } from '#pipelines/analytics/answer_table.ts';
import type { Problem } from '#pipelines/settings/problems.ts';
import { closed } from '#services/control_api/fields.ts';
import type { ControlErrorCode } from '../errors.ts';

/** How an answer to a query may be written. */
export const formatQuery = closed({
  format: Type.Optional(
    Type.Enum(['json', 'csv', 'parquet'], {
      description: 'Takes the place of Accept; JSON where neither says another',
    }),
  ),
});

const CSV = 'text/csv';
/** The media type of a Parquet file. */
export const PARQUET = 'application/vnd.apache.parquet';

/** Media types of an answer beside JSON, as they are documented. */
export const OTHER_FORMATS = {
  [CSV]: Type.String({ description: 'The answer as a table, with its columns in the first line (RFC 4180)' }),
  [PARQUET]: Type.String({ description: 'The same table as a Parquet file', format: 'binary' }),
};

export type Format = 'json' | 'csv' | 'parquet';

/** An answer as it is sent. */
export interface Written {
  contentType: string;
  body: object | string | Buffer;
  /** How many elements its lists have; null where that is not known. */
  rows: number | null;
}

/** An answer as it is sent, or why there is none. */
export type Sent = ({ ok: true } & Written) | { ok: false; code: ControlErrorCode; problems?: Problem[] };

/** The format that a request asks for. */
export function formatOf(query: unknown, accept: string | undefined): Format {
  return (query as Static<typeof formatQuery>).format ?? acceptedFormat(accept ?? '');
}

/** An answer in a format. @throws WarehouseError when Parquet cannot be written now */
export async function writeAnswer(answer: object, format: Format, writeParquet: WriteParquet): Promise<Written> {
  switch (format) {
    case 'json':
      return asJson(answer, rowsIn(answer));
    case 'csv':
      return asCsv(answerTable(answer), rowsIn(answer));
    case 'parquet':
      return { contentType: PARQUET, body: await writeParquet(answerTable(answer)), rows: rowsIn(answer) };
  }
}

const rowsIn = (answer: object): number =>
  Object.values(answer).reduce((rows: number, part: unknown) => rows + (Array.isArray(part) ? part.length : 0), 0);

export const asJson = (answer: object, rows: number): Written => ({
  contentType: 'application/json; charset=utf-8',
  body: answer,
  rows,
});

export const asCsv = (table: AnswerTable, rows: number): Written => ({
  contentType: `${CSV}; charset=utf-8; header=present`,
  body: csvOf(table),
  rows,
});

/** Formats by the media types that ask for them; a type with a star leaves the choice to us. */
const FORMATS: ReadonlyMap<string, Format> = new Map([
  [CSV, 'csv'],
  ['text/*', 'csv'],
  [PARQUET, 'parquet'],
  ['application/json', 'json'],
  ['application/*', 'json'],
  ['*/*', 'json'],
]);

/** The one of greatest weight in Accept (RFC 9110, 12.5.1), of equals the first that is named; JSON where it takes none of ours. */
function acceptedFormat(accept: string): Format {
  const ranges = accept.toLowerCase().split(',').map(rangeOf);
  const taken = ranges.filter(({ type, weight }) => FORMATS.has(type) && weight > 0);
  const [best] = taken.sort((a, b) => b.weight - a.weight || Number(isOpen(a)) - Number(isOpen(b)));
  return FORMATS.get(best?.type ?? '') ?? 'json';
}

interface MediaRange {
  type: string;
  weight: number;
}

const isOpen = ({ type }: MediaRange): boolean => type.endsWith('*');

/** A media type with its weight: 1 if none is given, or what is given is no number. */
function rangeOf(part: string): MediaRange {
  const [type = '', ...parameters] = part.split(';').map((one) => one.trim());
  const weight = Number(parameters.find((one) => one.startsWith('q='))?.slice(2) || 1);
  return { type, weight: Number.isNaN(weight) ? 1 : weight };
}
