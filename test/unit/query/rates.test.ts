import { expect, test } from 'vitest';
import { rateProblems, readRates } from '#pipelines/analytics/revenue/rates.ts';

test('rates are read in lines, and as the European Central Bank has them', () => {
  const rates = [
    { day: '2026-10-02', currency: 'USD', rate: 1.0852 },
    { day: '2026-10-02', currency: 'JPY', rate: 161.3 },
    { day: '2026-10-01', currency: 'USD', rate: 1.0831 },
  ];
  expect(
    readRates('day,currency,rate\n2026-10-02,USD,1.0852\r\n2026-10-02,JPY,161.3\n2026-10-01,USD,1.0831\n'),
  ).toEqual(rates);
  expect(readRates('\uFEFFDate,USD,JPY,CYP,\n2026-10-02,1.0852,161.3,N/A,\n2026-10-01, 1.0831,,N/A,\n')).toEqual(rates);
});

test.for([
  ['', 'line 1'],
  ['time,USD\n', 'line 1'],
  ['day,currency,rate\n2026-02-30,USD,1', 'line 2'],
  ['day,currency,rate\n2026-10-01,USD,1\n2026-10-02,usd,1', 'line 3'],
  ['day,currency,rate\n2026-10-01,USD', 'line 2'],
  ['day,currency,rate\n2026-10-01,USD,1,08', 'line 2'],
  ['Date,USD\n2026-10-01,1,08', 'line 2'],
  ['Date,USD\n2026-10-01,-1', 'line 2'],
  ['Date,USD,JPY,\n2026-10-01,1,0852,161,3,', 'line 2'],
  ['Date,USD,JPY\n2026-10-01,1.08', 'line 2'],
  ['Date,USD\n2026-10-01,"1,08"', 'line 2'],
  ['Date,USD\n2026-10-01,1e1', 'line 2'],
  ['Date,USD,USD\n2026-10-01,1.08,1.09', 'a second rate of USD on 2026-10-01'],
  ['day,currency,rate\n2026-10-01,USD,1.08\n2026-10-01,USD,1.08', 'line 3: has a second rate'],
] as const)('%j is no file of rates: %s', ([csv, line]) => {
  expect(() => readRates(csv)).toThrow(line);
});

test('no rate is of a day that there is not, of the base, or so great or small that it is a mistake', () => {
  const rates = [
    { day: '2026-10-01', currency: 'USD', rate: 1.08 },
    { day: '2026-02-30', currency: 'USD', rate: 1.08 },
    { day: '2026-10-01', currency: 'EUR', rate: 1 },
    { day: '2026-10-02', currency: 'USD', rate: 0 },
    { day: '2026-10-01', currency: 'USD', rate: 1.09 },
  ];
  expect(rateProblems('EUR', rates).map(({ field }) => field)).toEqual([
    'rates[1].day',
    'rates[2].currency',
    'rates[3].rate',
    'rates[4]',
  ]);
});

test('of a file against another base that is said once, and of what else is wrong no more than anybody reads', () => {
  const rates = Array.from({ length: 9_000 }, (_, at) => ({
    day: new Date(at * 86_400_000).toISOString().slice(0, 10),
    currency: 'USD',
    rate: 1.08,
  }));
  expect(rateProblems('USD', rates).map(({ field }) => field)).toEqual(['rates[0].currency']);
  const wrong = rates.map((one) => ({ ...one, rate: 0 }));
  expect(rateProblems('EUR', wrong)).toHaveLength(20);
});
