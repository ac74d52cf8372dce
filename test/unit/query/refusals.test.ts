import { expect, test } from 'vitest';
import { controlWithShop } from '../control/harness.ts';

const DAY_MS = 86_400_000;
const from = Date.UTC(2026, 9, 1);
const to = Date.UTC(2026, 10, 1);
const one = { from, to, interval: 'day', series: [{}] };
const value = { column: 'value' };

test.for([
  ['trends', { ...one, series: Array(11).fill({}) }, 'field_malformed', 'series'],
  ['trends', { ...one, series: [{ measure: { of: 'median' } }] }, 'field_missing', 'series[0].measure.field'],
  [
    'trends',
    { ...one, series: [{ measure: { of: 'events', field: value } }] },
    'field_malformed',
    'series[0].measure.field',
  ],
  [
    'trends',
    { ...one, series: [{ measure: { of: 'mode', field: value } }] },
    'field_malformed',
    'series[0].measure.of',
  ],
  ['trends', { ...one, series: [{ sum: value, measure: { of: 'events' } }] }, 'field_malformed', 'series[0].measure'],
  ['trends', { ...one, formulas: ['A / B'] }, 'formula_malformed', 'formulas[0]'],
  ['trends', { ...one, formulas: ['A'.repeat(201)] }, 'field_malformed', 'formulas[0]'],
  ['trends', { ...one, formulas: Array(11).fill('A') }, 'field_malformed', 'formulas'],
  ['trends', { ...one, breakdown: {} }, 'field_missing', 'breakdown.field'],
  ['trends', { ...one, breakdown: { field: value, fields: [value] } }, 'field_malformed', 'breakdown.fields'],
  ['trends', { ...one, breakdown: { fields: Array(4).fill(value) } }, 'field_malformed', 'breakdown.fields'],
  ['trends', { ...one, breakdown: { field: value, limit: 1_001 } }, 'field_malformed', 'breakdown.limit'],
  ['trends', { ...one, rolling: 101 }, 'field_malformed', 'rolling'],
  [
    'trends',
    { ...one, interval: 'hour', rolling: 2, breakdown: { field: value, limit: 1_000 } },
    'too_many',
    'interval',
  ],
  [
    'retention',
    { from: 0, to: 500 * DAY_MS, interval: 'day', mode: 'recurring', start: {}, back: {} },
    'too_many',
    'interval',
  ],
  ['revenue', { from, to: from + 800 * DAY_MS, interval: 'hour' }, 'too_many', 'interval'],
  ['stickiness', { ...one, interval: 'hour' }, 'field_malformed', 'interval'],
  ['stickiness', { ...one, series: [] }, 'field_malformed', 'series'],
  ['lifecycle', { from, to, interval: 'day', time_zone: 'Mars/Base' }, 'field_malformed', 'time_zone'],
] as const)('%s refuses %j by %s', async ([name, body, code, field]) => {
  const world = await controlWithShop();
  const { status, body: answer } = await world.call('POST', `/v1/query/shop/${name}`, { body });
  expect(status).toBe(400);
  expect(answer.problems).toContainEqual(expect.objectContaining({ code, field }));
});
