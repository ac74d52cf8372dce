// Rates of currencies by day, and how files have them.

import { type Problem, problem } from '#pipelines/settings/problems.ts';

/** How much of a currency one of the base is on a day. */
export interface Rate {
  /** As 2026-10-01. */
  day: string;
  currency: string;
  rate: number;
}

/** The time that ClickHouse's Date has, and that days here are of. */
const DAY = /^(?:19[7-9]\d|20\d\d|21[0-3]\d)-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const CODE = /^[A-Z]{3}$/;

/** Rates of more or less are mistakes: the widest there are lie between a few thousandths and some millions. */
const RATE_MIN = 1e-6;
const RATE_MAX = 1e9;

const isDay = (text: string): boolean => DAY.test(text) && new Date(text).toISOString().startsWith(text);
const isRate = (rate: number): boolean => rate >= RATE_MIN && rate <= RATE_MAX;

/** What of rates no schema can say: days that there are not, and the base itself, which is 1. */
export function rateProblems(base: string, rates: readonly Rate[]): Problem[] {
  return rates.flatMap(({ day, currency, rate }, index) => [
    ...(isDay(day) ? [] : [problem('field_malformed', `rates[${index}].day`, 'is no day between 1970 and 2139')]),
    ...(isRate(rate)
      ? []
      : [problem('field_malformed', `rates[${index}].rate`, `is not from ${RATE_MIN} to ${RATE_MAX}`)]),
    ...(currency === base ? [problem('field_malformed', `rates[${index}].currency`, 'is the base')] : []),
  ]);
}

/** A file that cannot be read, with the number of its line. */
export class RateFileError extends Error {
  readonly code = 'rates_unreadable';
}

const NONE: ReadonlySet<string> = new Set(['', 'N/A']);

/**
 * Rates of a CSV: of `day,currency,rate` in lines, or one line a day with a column for each currency, as the European Central Bank
 * has them (`Date,USD,JPY,...`, where `N/A` is none).
 *
 * @throws RateFileError
 */
export function readRates(csv: string): Rate[] {
  const [head = [], ...lines] = csv
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((line) => line.split(',').map((cell) => cell.trim()));
  const names = head.map((name) => name.toLowerCase());
  const isLong = names.join() === 'day,currency,rate';
  if (!isLong && names[0] !== 'date')
    throw new RateFileError('line 1: is neither day,currency,rate nor Date,USD,JPY,...');
  return lines.flatMap((cells, index) => {
    if (cells.length === 1 && cells[0] === '') return [];
    const [day = '', ...rest] = cells;
    const pairs = isLong
      ? [[rest[0] ?? '', rest[1] ?? ''] as const]
      : rest.map((cell, at) => [head[at + 1] ?? '', cell] as const);
    // Lines of the bank's files end with a comma.
    return pairs
      .filter(([, cell]) => isLong || !NONE.has(cell))
      .map(([currency, cell]) => {
        const rate = Number(cell);
        const isWhole = !isLong || rest.length === 2;
        if (isWhole && isDay(day) && CODE.test(currency) && isRate(rate)) return { day, currency, rate };
        throw new RateFileError(`line ${index + 2}: is no day, currency and rate`);
      });
  });
}
