import { expect, test } from 'vitest';
import { measurementProblems } from '#pipelines/intake/ga4/measurement_problems.ts';
import { readMeasurements } from '#pipelines/intake/ga4/measurement_protocol.ts';
import { MEASUREMENT_CASES } from './cases.ts';

test.each(MEASUREMENT_CASES)('$name', ({ body, events, problem }) => {
  expect(readMeasurements(body)).toStrictEqual(problem === undefined ? { ok: true, events } : { ok: false, problem });
});

test.each(MEASUREMENT_CASES)('what Google would say: $name', ({ body, codes }) => {
  expect(measurementProblems(body).map(({ validationCode }) => validationCode)).toEqual(codes);
});

test('no problem repeats what was sent', () => {
  const body = { client_id: 'c', user_properties: { 'jane@example.com': 1 }, events: [{ name: 'jane@example.com' }] };
  expect(JSON.stringify(measurementProblems(body))).not.toContain('jane');
});
