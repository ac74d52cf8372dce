// Rates of currencies: loaded from a file, shown and taken back.

import { type Rate, RateFileError, readRates } from '#pipelines/analytics/revenue/rates.ts';
import { RATES_MAX, type RatesItem } from '#services/control_api/queries.ts';
import { type Commands, done, requiredOption, send, show, table, UsageError } from './command.ts';
import { readText } from './read.ts';

const PATH = '/rates';

const COLUMNS = { CURRENCY: 'currency', FIRST: 'first', LAST: 'last', DAYS: 'days' } as const;

const outcomeOf = (rates: RatesItem) => {
  const { base, currencies } = rates;
  if (base === null) return done('No rates are loaded.', rates);
  return done([`Rates against ${base}:`, table(COLUMNS, currencies)], rates);
};

export const rateCommands: Commands = {
  'rates list': {
    summary: 'List the currencies that there are rates of, and of which days',
    run: show<RatesItem>(() => PATH, outcomeOf),
  },
  'rates load <FILE>': {
    summary: 'Load rates of currencies by days, by which revenue is told in one currency',
    subject:
      'a CSV of day,currency,rate, or of Date,USD,JPY,... as the European Central Bank has it; - is standard input',
    options: [requiredOption('base <CURRENCY>', 'The currency that they are against, as EUR', 'base')],
    examples: ['rates load eurofxref-hist.csv --base EUR'],
    async run(args, context) {
      const rates = ratesOf(readText(context, args.subject));
      const base = args.required('base');
      for (let at = 0; at < rates.length; at += RATES_MAX) {
        await context.client.send<RatesItem>('PUT', PATH, null, { base, rates: rates.slice(at, at + RATES_MAX) });
      }
      return outcomeOf(await context.client.get<RatesItem>(PATH));
    },
  },
  'rates clear': {
    summary: 'Take all rates of currencies back',
    run: send<RatesItem>('DELETE', () => PATH, outcomeOf),
  },
};

function ratesOf(csv: string): Rate[] {
  try {
    const rates = readRates(csv);
    if (rates.length > 0) return rates;
  } catch (error) {
    if (error instanceof RateFileError) throw new UsageError(error.code, error.message);
    throw error;
  }
  throw new UsageError('rates_unreadable', 'the file has no rates');
}
