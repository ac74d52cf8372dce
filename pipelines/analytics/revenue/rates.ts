// Rates of currencies by day, and how files have them.

import { type Problem, problem } from '#pipelines/settings/problems.ts';

/** How much of a currency one of the base is on a day. */
export interface Rate {
  /** As 2026-10-01. */
  day: string;
  currency: string;
  rate: number;
}

/** So many are loaded at once at the most. */
export const RATES_MAX = 10_000;

/** The time that ClickHouse's Date has, and that days here are of. */
const DAY = /^(?:19[7-9]\d|20\d\d|21[0-3]\d)-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const CODE = /^[A-Z]{3}$/;

/** Rates of more or less are mistakes: the widest there are lie between a few thousandths and some millions. */
const RATE_MIN = 1e-6;
const RATE_MAX = 1e9;

const isDay = (text: string): boolean => DAY.test(text) && new Date(text).toISOString().startsWith(text);
const isRate = (rate: number): boolean => rate >= RATE_MIN && rate <= RATE_MAX;

/** Tells whether there was a rate of that day and currency before, of those that it is asked about. */
function createRepeats(): (rate: Pick<Rate, 'day' | 'currency'>) => boolean {
  const seen = new Set<string>();
  return ({ day, currency }) => seen.size === seen.add(`${day} ${currency}`).size;
}

/** More are not read by anybody. */
const PROBLEMS_MAX = 20;

/** What of rates no schema can say: days that there are not, the base itself, which is 1, and two for one day; the first of it. */
export function rateProblems(base: string, rates: readonly Rate[]): Problem[] {
  const isAgain = createRepeats();
  // A file against another base has a column of this one: it is told once.
  const ofBase = rates.findIndex(({ currency }) => currency === base);
  const problems = rates.flatMap(({ day, currency, rate }, index) => [
    ...(isDay(day) ? [] : [problem('field_malformed', `rates[${index}].day`, 'is no day between 1970 and 2139')]),
    ...(isRate(rate)
      ? []
      : [problem('field_malformed', `rates[${index}].rate`, `is not from ${RATE_MIN} to ${RATE_MAX}`)]),
    ...(isAgain({ day, currency }) ? [problem('repeated', `rates[${index}]`, 'an earlier one is of its day')] : []),
    ...(index === ofBase ? [problem('field_malformed', `rates[${index}].currency`, 'is the base')] : []),
  ]);
  return problems.slice(0, PROBLEMS_MAX);
}

/** A file that cannot be read, with the number of its line. */
export class RateFileError extends Error {
  readonly code = 'rates_unreadable';
}

/** As number texts are written here: one with a comma, or a sign, is not ours to guess at. */
const DECIMAL = /^\d+(?:\.\d+)?$/;
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
  const isAgain = createRepeats();
  const rateAt = (day: string, currency: string, cell: string, line: number): Rate => {
    const rate = DECIMAL.test(cell) ? Number(cell) : Number.NaN;
    if (!isDay(day) || !CODE.test(currency) || !isRate(rate))
      throw new RateFileError(`line ${line}: is no day, currency and rate`);
    if (isAgain({ day, currency })) throw new RateFileError(`line ${line}: has a second rate of ${currency} on ${day}`);
    return { day, currency, rate };
  };
  return lines.flatMap((cells, index) => {
    if (cells.length === 1 && cells[0] === '') return [];
    const line = index + 2;
    const [day = '', ...rest] = cells;
    // A number with a comma is two cells.
    if (cells.length !== head.length)
      throw new RateFileError(`line ${line}: has ${cells.length} fields, and the first line ${head.length}`);
    if (isLong) return [rateAt(day, rest[0] ?? '', rest[1] ?? '', line)];
    // Lines of the bank's files end with a comma.
    return rest.flatMap((cell, at) => (NONE.has(cell) ? [] : [rateAt(day, head[at + 1] ?? '', cell, line)]));
  });
}
