import { expect, it } from 'vitest';
import { currencyCode } from '#pipelines/delivery/event_fields.ts';

it.each([
  ['EUR', 'EUR'],
  [' usd ', 'USD'],
  ['jpy', 'JPY'],
  ['KWD', 'KWD'],
])('%j is %s', (text, code) => expect(currencyCode(text)).toBe(code));

it.each(['XYZ', 'XXX', 'XAU', 'XTS', 'DEM', 'EURO', '€', 'EU', '', null])('%j is none', (text) => {
  expect(currencyCode(text)).toBeNull();
});

it('each is one that Unicode knows too', () => {
  const deadLetters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');
  const known = new Set(Intl.supportedValuesOf('currency'));
  const codes = deadLetters.flatMap((a) => deadLetters.flatMap((b) => deadLetters.map((c) => a + b + c)));
  const taken = codes.filter((code) => currencyCode(code) !== null);
  expect(taken.filter((code) => !known.has(code))).toEqual([]);
  expect(taken).toHaveLength(156);
});
