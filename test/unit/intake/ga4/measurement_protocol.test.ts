import { expect, test } from 'vitest';
import { measurementProblems, readMeasurements } from '#pipelines/intake/ga4/measurement_protocol.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { SECRET } from '#test/unit/intake/context.ts';
import { MEASUREMENT_CASES } from './cases.ts';

test('bodies become the events that their cases say', () =>
  checkAll(MEASUREMENT_CASES, ({ body, events, problem }) => {
    const expected = problem === undefined ? { ok: true, events } : { ok: false, problem };
    expect(readMeasurements(body, SECRET)).toStrictEqual(expected);
  }));

test('what Google would say of bodies is said', () =>
  checkAll(MEASUREMENT_CASES, ({ body, codes }) => {
    expect(measurementProblems(body).map(({ validationCode }) => validationCode)).toEqual(codes);
  }));

test('no problem repeats what was sent', () => {
  const body = { client_id: 'c', user_properties: { 'jane@example.com': 1 }, events: [{ name: 'jane@example.com' }] };
  expect(JSON.stringify(measurementProblems(body))).not.toContain('jane');
});

const named = (count: number, value: unknown = 1) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, value]));
const TOO_MANY = { ok: false, problem: 'parameters_too_many' };

test('an event has at most 200 names, those of its user, its items and of JSON in a value among them', () => {
  const read = (params: object, rest: object = {}) =>
    readMeasurements({ client_id: 'c', ...rest, events: [{ name: 'a', params }] }, SECRET);
  expect(read(named(200))).toMatchObject({ ok: true });
  expect(read(named(201))).toEqual(TOO_MANY);
  expect(read({ items: [named(100), named(199)] })).toMatchObject({ ok: true });
  expect(read({ items: [named(100), named(200)] })).toEqual(TOO_MANY);
  expect(read({ data: JSON.stringify(named(200)) })).toEqual(TOO_MANY);
  expect(read({}, { user_properties: named(199, { value: 1 }) })).toMatchObject({ ok: true });
  expect(read(named(1), { user_properties: named(200, { value: 1 }) })).toEqual(TOO_MANY);
});

test('a request has at most 2,000 names', () => {
  const read = (count: number) => {
    const events = Array.from({ length: 20 }, () => ({ name: 'a', params: named(count) }));
    return readMeasurements({ client_id: 'c', events }, SECRET);
  };
  expect(read(100)).toMatchObject({ ok: true });
  expect(read(101)).toEqual(TOO_MANY);
});
