import { expect, test } from 'vitest';
import { withPersonsOf } from '#pipelines/analytics/query_rewrites.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2027, 0, 31);
const filters = [{ field: { visit: 'source' }, is: 'equal', to: ['google'] }];

test('what arrives now is asked about by the visits of now, and what has a time by those of then', () => {
  const among = (query: object): unknown => {
    const { filters: changed } = withPersonsOf({ ...query, filters }, 'shop', 5, NOW_MS) as { filters: typeof filters };
    return (changed.map(({ field }) => field)[0] as { among?: unknown } | undefined)?.among;
  };
  expect(among({})).toEqual({ siteId: 'shop', since: NOW_MS - 2 * DAY_MS, before: NOW_MS });
  expect(among({ from: 10, to: 20 })).toEqual({ siteId: 'shop', since: 5, before: 20 });
});
