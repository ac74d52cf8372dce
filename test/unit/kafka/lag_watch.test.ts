import { expect, test } from 'vitest';
import { lagOf } from '#infra/kafka/consumer/lag_watch.ts';

const AT = { topic: 'events.raw', partition: 3 };

test.each([
  ['of which nothing was committed yet', { low: 0, high: 7, committed: null }, 7],
  ['whose beginning was deleted before anything was committed', { low: 5, high: 7, committed: null }, 2],
  ['of which some is committed', { low: 0, high: 7, committed: 4 }, 3],
  ['of which all is committed', { low: 0, high: 7, committed: 7 }, 0],
  ['whose committed offset was deleted by age', { low: 6, high: 7, committed: 2 }, 1],
  ['whose end is behind what is committed, as after a leader was lost', { low: 0, high: 3, committed: 5 }, 0],
])('the lag of a partition %s', (_, position, records) => {
  expect(lagOf({ ...AT, ...position })).toEqual({ ...AT, records });
});
