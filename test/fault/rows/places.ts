import { until } from '#test/harness/until.ts';
import type { Row } from '../row.ts';
import { killAndWait, partOf } from './parts.ts';

const DIED_MS = 60_000;

/** One of three brokers is killed under load; the others lead on. Then the next one, when the first is back. */
export const ONE_OF_THREE_KILLED: Row = {
  name: 'kafka.one_of_three_killed',
  place: 'three_brokers',
  resends: true,
  async fault({ world, random, untilSent, ledger, events }) {
    await untilSent(events / 4);
    const brokers = world.brokers ?? [];
    const first = random.whole(0, brokers.length - 1);
    for (const broker of [brokers[first], brokers[(first + 1) % brokers.length]]) {
      if (broker === undefined) throw new Error('this world has no brokers of its own');
      await killAndWait(broker);
      await untilSent(ledger.size() + events / 4);
      await broker.start();
    }
    await untilSent(ledger.size() + events / 4);
  },
};

/** The broker's disk fills up until it gives up; it is started again when there is room. */
export const DISK_FULL: Row = {
  name: 'kafka.disk_full',
  place: 'small_disk',
  resends: true,
  requestsPerSecond: 60,
  async fault({ world, untilSent, events }) {
    await untilSent(events / 4);
    const { disk } = world;
    if (disk === undefined) throw new Error('this world has no small disk');
    const broker = partOf(world, 'kafka');
    disk.fill();
    await until(
      'the broker gives up',
      () => broker.pid,
      (pid) => pid === undefined,
      { timeoutMs: DIED_MS },
    );
    disk.free();
    await broker.start();
  },
};
