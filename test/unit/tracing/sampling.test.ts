import { expect, test } from 'vitest';
import { createSampling } from '#infra/tracing/tracer.ts';

const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const said = (flags: string): string => `00-${parent.traceId}-${parent.spanId}-${flags}`;

test('a share of the requests begins a trace of its own', () => {
  const draws = [0.009, 0.01, 0.5, 0];
  const { decide } = createSampling({ ratio: 0.01, random: () => draws.shift() ?? 1, nowMs: () => 0 });
  expect([1, 2, 3, 4].map(() => decide(undefined))).toEqual([{ parent: null }, null, null, { parent: null }]);
});

test('a share of 0 is none, and one of 1 is all', () => {
  const clock = { nowMs: () => 0 };
  expect(createSampling({ ratio: 0, random: () => 0, ...clock }).decide(undefined)).toBeNull();
  expect(createSampling({ ratio: 1, random: () => 0.999, ...clock }).decide(undefined)).toEqual({ parent: null });
});

test('what a trusted caller decided holds, whatever the share', () => {
  const { decide } = createSampling({ ratio: 0, random: () => 0, nowMs: () => 0 });
  expect(decide(said('01'))).toEqual({ parent });
  const all = createSampling({ ratio: 1, random: () => 0, nowMs: () => 0 });
  expect(all.decide(said('00'))).toBeNull();
  expect(all.decide('nonsense')).toEqual({ parent: null });
});

test('ten a second are traced because callers say so, and the others by the share', () => {
  let nowMs = 5;
  const sampling = createSampling({ ratio: 0.5, random: () => draw, nowMs: () => nowMs });
  let draw = 0.9;
  const traced = (): number => Array.from({ length: 15 }, () => sampling.decide(said('01'))).filter(Boolean).length;
  expect(traced()).toBe(10);
  nowMs += 999;
  expect(traced()).toBe(0);
  draw = 0.1;
  expect(sampling.decide(said('01'))).toEqual({ parent });
  draw = 0.9;
  nowMs += 1;
  expect(traced()).toBe(10);
});
