import { expect, test } from 'vitest';
import { createOwnCommits } from '#infra/kafka/offsets.ts';

const at = { topic: 't', partition: 1 };
const plan = { offset: 5, metadata: 'plan:1:5-9' };

test('where this process has committed nothing, what the coordinator says counts', () => {
  const own = createOwnCommits();
  own.passed({ topic: 't', partition: 2 }, { offset: 9, metadata: '' });
  expect(own.of(at, null)).toBeNull();
  expect(own.of(at, plan)).toBe(plan);
});

test('a coordinator that says less, or nothing, is not believed', () => {
  const own = createOwnCommits();
  own.passed(at, { offset: 9, metadata: '' });
  expect(own.of(at, null)).toEqual({ offset: 9, metadata: '' });
  expect(own.of(at, plan)).toEqual({ offset: 9, metadata: '' });
});

test('what another member has committed since is further', () => {
  const own = createOwnCommits();
  own.passed(at, plan);
  expect(own.of(at, { offset: 10, metadata: '' })).toEqual({ offset: 10, metadata: '' });
});

test('of the same offset, that with something beside it is later', () => {
  const own = createOwnCommits();
  own.passed(at, plan);
  expect(own.of(at, { offset: 5, metadata: '' })).toBe(plan);
  own.passed(at, { offset: 5, metadata: '' });
  expect(own.of(at, plan)).toBe(plan);
});
