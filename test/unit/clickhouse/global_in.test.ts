import { expect, test } from 'vitest';
import { type TimelineQuery, timelineStatement } from '#pipelines/analytics/event_lists.ts';
import { type TopQuery, topStatement } from '#pipelines/analytics/top.ts';

const RANGE = { from: 0, to: 1 };
const TOP: TopQuery = { ...RANGE, field: { column: 'country' } };
const TIMELINE: TimelineQuery = { ...RANGE, person_id: 'p_1' };

/** A distributed table refuses a plain IN over a distributed table (error 288, distributed_product_mode). */
test.each([
  ['top values', topStatement('shop', TOP).sql],
  ['timeline', timelineStatement('shop', TIMELINE).sql],
])('the statement of %s asks all shards for what it compares with', (_name, sql) => {
  const compared = [...sql.matchAll(/(\w+) (?:NOT )?IN \(SELECT/g)].map(([, word]) => word);
  expect(compared.length).toBeGreaterThan(0);
  expect(new Set(compared)).toEqual(new Set(['GLOBAL']));
});
