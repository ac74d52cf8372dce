import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  assignPartitionGroups,
  partitionGroupOf,
  partitionGroupsOf,
  transactionalId,
} from '#infra/kafka/consumer/group_consumer.ts';

const partitionsOf = (topic: string, count: number) =>
  Array.from({ length: count }, (_, partition) => ({ topic, partition }));

test('a partition group begins at a multiple of its size', () => {
  expect([0, 3, 4, 11].map((partition) => partitionGroupOf(partition, 4))).toEqual([
    { first: 0, last: 3 },
    { first: 0, last: 3 },
    { first: 4, last: 7 },
    { first: 8, last: 11 },
  ]);
  expect(partitionGroupsOf(6, 4)).toEqual([
    { first: 0, last: 3 },
    { first: 4, last: 7 },
  ]);
});

test('all partitions of a group have one transactional id, which names the size', () => {
  const at = (partition: number) => ({ topic: 't', partition });
  expect([4, 7].map((partition) => transactionalId('g', at(partition), 4))).toEqual(['g.t.4-7', 'g.t.4-7']);
  expect(transactionalId('g', at(4), 2)).toBe('g.t.4-5');
  expect(transactionalId('g', at(4), 1)).toBe('g.t.4');
});

test('partition groups go to members round robin', () => {
  const assigned = assignPartitionGroups(['b', 'a'], [...partitionsOf('t', 10).reverse(), ...partitionsOf('s', 2)], 4);
  expect(Object.fromEntries(assigned)).toEqual({
    a: { s: [0, 1], t: [4, 5, 6, 7] },
    b: { t: [0, 1, 2, 3, 8, 9] },
  });
});

test('each partition goes to one member, those of a group to the same, and members differ by one group at the most', () => {
  const members = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 5 });
  const size = fc.integer({ min: 1, max: 6 });
  fc.assert(
    fc.property(members, size, fc.integer({ min: 1, max: 40 }), (names, groupSize, count) => {
      const assigned = assignPartitionGroups(names, partitionsOf('t', count), groupSize);
      const all = [...assigned.values()].flatMap(({ t }) => t ?? []).sort((one, other) => one - other);
      expect(all).toEqual(partitionsOf('t', count).map(({ partition }) => partition));
      const owners = new Map<number, Set<string>>();
      for (const [name, { t }] of assigned) {
        for (const partition of t ?? []) {
          const { first } = partitionGroupOf(partition, groupSize);
          owners.set(first, (owners.get(first) ?? new Set()).add(name));
        }
      }
      expect([...owners.values()].every((of) => of.size === 1)).toBe(true);
      const held = names.map((name) => [...owners.values()].filter((of) => of.has(name)).length);
      expect(Math.max(...held) - Math.min(...held)).toBeLessThanOrEqual(1);
    }),
  );
});
