import { expect, test } from 'vitest';
import { type Arrival, arrivalAt, campaignOf, holding } from '#services/tag/src/visitor.ts';

const DAY_MS = 86_400_000;
const first = { session: 's1', atMs: 1_800_000_000_000 };
const nothing: Arrival = { ...first, parameters: {} };
const later = (days: number) => ({ session: 's2', atMs: first.atMs + days * DAY_MS });

test('campaign parameters and click ids of the address are taken, and nothing else', () => {
  const arrival = arrivalAt(
    nothing,
    '?utm_source=mail&gclid=G1&fbclid=F1&email=a%40b.example&utm_medium=',
    first,
    true,
  );
  expect(holding(arrival, first, true)).toEqual({ utm_source: 'mail', gclid: 'G1', fbclid: 'F1' });
});

test('without consent to advertising no click id is taken', () => {
  expect(arrivalAt(nothing, '?utm_source=mail&gclid=G1', first, false).parameters).toEqual({ utm_source: 'mail' });
});

test('a campaign holds on further pages of its session and not in the next', () => {
  const arrival = arrivalAt(nothing, '?utm_source=mail', first, true);
  expect(arrivalAt(arrival, '', first, true)).toBe(arrival);
  expect(holding(arrival, first, true)).toEqual({ utm_source: 'mail' });
  expect(holding(arrival, later(1), true)).toEqual({});
});

test('a click holds for ninety days', () => {
  const arrival = arrivalAt(nothing, '?gclid=G1', first, true);
  expect(holding(arrival, later(89), true)).toEqual({ gclid: 'G1' });
  expect(holding(arrival, later(90), true)).toEqual({});
});

test('a new campaign takes the place of the old one whole, and leaves clicks', () => {
  const arrival = arrivalAt(nothing, '?utm_source=mail&utm_term=shoes&gclid=G1', first, true);
  const next = arrivalAt(arrival, '?utm_source=ads&fbclid=F1', first, true);
  expect(holding(next, first, true)).toEqual({ utm_source: 'ads', gclid: 'G1', fbclid: 'F1' });
});

test('a click is not lost on a page where advertising is not allowed', () => {
  const arrival = arrivalAt(nothing, '?gclid=G1', first, true);
  expect(holding(arrival, first, false)).toEqual({});
  expect(holding(arrivalAt(arrival, '?utm_source=mail', first, false), first, true)).toMatchObject({ gclid: 'G1' });
});

test('a parameter too long to be an id is left out', () => {
  expect(arrivalAt(nothing, `?gclid=${'x'.repeat(600)}`, first, true).parameters).toEqual({});
});

test('campaign parameters are known in any case, and keep to their session', () => {
  const arrival = arrivalAt(nothing, '?UTM_Source=News&Utm_Medium=mail&GCLID=G1', first, true);
  expect(holding(arrival, first, true)).toEqual({ utm_source: 'News', utm_medium: 'mail', GCLID: 'G1' });
  expect(holding(arrival, later(1), true)).toEqual({ GCLID: 'G1' });
  expect(campaignOf('?UTM_SOURCE=News&ref=1')).toEqual({ utm_source: 'News' });
});
