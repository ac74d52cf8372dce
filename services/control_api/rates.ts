// Schemas of rates of currencies.

import { type Static, Type } from 'typebox';
import { currencyCode } from '#pipelines/analytics/revenue/query.ts';
import { closed, countField, nullable } from './fields.ts';

export const RATES_MAX = 10_000;

const currency = (description: string) => Type.Unsafe<string>({ ...currencyCode, description });
const day = (description: string) => Type.String({ description, maxLength: 10 });

export const ratesInput = closed({
  base: currency('The currency that the rates are against'),
  rates: Type.Array(
    closed({
      day: day('As 2026-10-01'),
      currency: currency('The other currency'),
      rate: Type.Number({ description: 'How much of it one of the base is' }),
    }),
    { minItems: 1, maxItems: RATES_MAX, description: 'They replace those of the same currencies and days' },
  ),
});
export type RatesInput = Static<typeof ratesInput>;

export const ratesShape = Type.Object({
  base: nullable(Type.String(), { description: 'What all rates are against; null: none are loaded' }),
  currencies: Type.Array(
    Type.Object({
      currency: Type.String(),
      first: day('The first day that there is a rate of'),
      last: day('The last one'),
      days: countField('Of how many days there are rates'),
    }),
    { description: 'The base is among them' },
  ),
});
export type RatesItem = Static<typeof ratesShape>;
