import { createRequire } from 'node:module';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { patchCoordinatorCache } from '#infra/kafka/kafkajs_patches/client_patches.ts';

interface Cluster {
  findGroupCoordinatorMetadata(asked: { groupId: string; coordinatorType: number }): Promise<unknown>;
}

const require = createRequire(import.meta.url);
const { prototype } = require('kafkajs/src/cluster/index.js') as { prototype: Cluster };
const [OF_GROUP, OF_TRANSACTION] = [0, 1];

/** A client of a cluster whose broker answers with the number of the request. */
function openCluster(fails = (): boolean => false) {
  let asked = 0;
  const broker = {
    findGroupCoordinator: async () => {
      asked++;
      if (fails()) throw new Error('not available');
      return { host: 'broker', coordinator: { nodeId: asked } };
    },
  };
  const cluster: Cluster = Object.assign(Object.create(prototype), {
    logger: { debug: () => undefined },
    brokerPool: { withBroker: (use: (on: object) => Promise<unknown>) => use({ nodeId: 1, broker }) },
    retrier: (attempt: (bail: (error: Error) => void, tries: number, ms: number) => Promise<unknown>) =>
      attempt(
        (error) => {
          throw error;
        },
        0,
        0,
      ),
  });
  return {
    find: (groupId: string, coordinatorType: number) =>
      cluster.findGroupCoordinatorMetadata({ groupId, coordinatorType }),
    asked: () => asked,
  };
}

beforeEach(() => {
  patchCoordinatorCache();
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a transactional client asks once for each coordinator, and again after two seconds', async () => {
  const { find, asked } = openCluster();
  const first = await find('id', OF_TRANSACTION);
  const group = await find('group', OF_GROUP);
  expect(group).not.toEqual(first);
  vi.advanceTimersByTime(1_999);
  expect(await find('id', OF_TRANSACTION)).toEqual(first);
  expect(await find('group', OF_GROUP)).toEqual(group);
  expect(asked()).toBe(2);
  vi.advanceTimersByTime(1);
  expect(await find('id', OF_TRANSACTION)).not.toEqual(first);
  expect(asked()).toBe(3);
});

test('a group and a transactional id of one name are told apart', async () => {
  const { find, asked } = openCluster();
  await find('same', OF_TRANSACTION);
  await find('same', OF_GROUP);
  expect(asked()).toBe(2);
});

test('other clients ask whenever they need it', async () => {
  const { find, asked } = openCluster();
  await find('group', OF_GROUP);
  await find('group', OF_GROUP);
  expect(asked()).toBe(2);
});

test('clients keep nothing for each other', async () => {
  const [one, other] = [openCluster(), openCluster()];
  await one.find('id', OF_TRANSACTION);
  await other.find('id', OF_TRANSACTION);
  expect(other.asked()).toBe(1);
});

test('a failure is not kept', async () => {
  let fails = true;
  const { find } = openCluster(() => fails);
  await expect(find('id', OF_TRANSACTION)).rejects.toThrow('not available');
  fails = false;
  expect(await find('id', OF_TRANSACTION)).toMatchObject({ host: 'broker' });
});
