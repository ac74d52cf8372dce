import { expect, test } from 'vitest';
import { createFurthest } from '#infra/kafka/consumer/committed_offsets.ts';

const at = { topic: 't', partition: 1 };
const plan = { offset: 5, metadata: 'plan:1:5-9' };

test('where this process has committed nothing, what the coordinator says counts', () => {
  const furthest = createFurthest();
  furthest.passed({ topic: 't', partition: 2 }, { offset: 9, metadata: '' });
  expect(furthest.of(at, null)).toBeNull();
  expect(furthest.of(at, plan)).toBe(plan);
});

test('a coordinator that says less, or nothing, is not believed', () => {
  const furthest = createFurthest();
  furthest.passed(at, { offset: 9, metadata: '' });
  expect(furthest.of(at, null)).toEqual({ offset: 9, metadata: '' });
  expect(furthest.of(at, plan)).toEqual({ offset: 9, metadata: '' });
});

test('what another member has committed since is further', () => {
  const furthest = createFurthest();
  furthest.passed(at, plan);
  expect(furthest.of(at, { offset: 10, metadata: '' })).toEqual({ offset: 10, metadata: '' });
});

test('of the same offset, that with something beside it is later', () => {
  const furthest = createFurthest();
  furthest.passed(at, plan);
  expect(furthest.of(at, { offset: 5, metadata: '' })).toBe(plan);
  furthest.passed(at, { offset: 5, metadata: '' });
  expect(furthest.of(at, plan)).toBe(plan);
});
