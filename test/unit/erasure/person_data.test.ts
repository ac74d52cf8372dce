import { expect, test } from 'vitest';
import { createPersonData } from '#infra/persons/person_data.ts';

type Parts = Parameters<typeof createPersonData>[0];

/** Rows of a person with as many bytes each, as ClickHouse tells first their sizes, then them. */
function stored(sizes: readonly number[]) {
  const query = async (asked: { query: string; query_params: Record<string, unknown> }) => {
    const after = asked.query_params['at'] === '-1' ? 0 : Number(asked.query_params['at']);
    const rows = sizes.map((bytes, at) => ({ bytes, at: String(at + 1), event_id: `e${at + 1}` }));
    const page = rows.slice(after, after + Number(asked.query_params['limit']));
    const isOfSizes = asked.query.includes('AS bytes');
    return {
      json: async () => page.map(({ bytes, at, event_id }) => (isOfSizes ? { bytes } : { at, event_id })),
    };
  };
  const { parts } = world();
  return createPersonData({ ...parts, warehouse: { query } as unknown as Parts['warehouse'] });
}

const MIB = 1024 ** 2;

test.for<[what: string, sizes: number[], limit: number, pages: string[]]>([
  ['as many as are asked for', [1, 1, 1, 1, 1], 2, ['e1 e2', 'e3 e4', 'e5']],
  ['all', [1, 1], 2, ['e1 e2']],
  ['as many bytes as may be held', [10 * MIB, 6 * MIB, 1, 9 * MIB, 8 * MIB], 5_000, ['e1 e2', 'e3 e4', 'e5']],
  ['one at least', [20 * MIB, 20 * MIB, 1], 5_000, ['e1', 'e2', 'e3']],
  ['none', [], 5_000, ['']],
])('a page of events of a person has %s', async ([, sizes, limit, pages]) => {
  const data = stored(sizes);
  const found: string[] = [];
  let after: string | null = null;
  do {
    const page = await data.events('shop', { persons: ['p'], identifiers: [] }, after, limit);
    found.push(page.events.map((event) => event['event_id']).join(' '));
    after = page.next;
  } while (after !== null);
  expect(found).toEqual(pages);
});

/** Of nobody; how often all of the topic is read is counted. */
function world() {
  const reads: (() => void)[] = [];
  const fetchTopicOffsets = async (): Promise<[]> => {
    await new Promise<void>((resolve) => {
      reads.push(resolve);
    });
    return [];
  };
  const parts = {
    session: { kafka: {}, admin: { fetchTopicOffsets }, config: { prefix: 'test' } },
    registry: { idOf: async () => 1 },
    redis: { isCluster: false, defineCommand: () => undefined },
    ...{ warehouse: {}, identitySecret: Buffer.alloc(32) },
  } as unknown as Parts;
  return { reads, parts, data: createPersonData(parts) };
}

test('whoever asks of links while all of them are read shares the next reading, and never the one that was begun before', async () => {
  const { reads, data } = world();
  const ask = () => data.links(new Map([['shop', new Set(['p'])]]));
  const first = ask();
  await expect.poll(() => reads.length).toBe(1);
  const others = Array.from({ length: 20 }, ask);
  reads[0]?.();
  expect(await first).toEqual([]);
  await expect.poll(() => reads.length).toBe(2);
  reads[1]?.();
  expect(await Promise.all(others)).toEqual(others.map(() => []));
  expect(reads).toHaveLength(2);
});

test('of all who ask of persons some ask ClickHouse at once, and where very many wait the rest is refused', async () => {
  const answering = Promise.withResolvers<void>();
  let asking = 0;
  const query = async () => {
    asking++;
    await answering.promise;
    return { json: async () => [] };
  };
  const { parts } = world();
  const data = createPersonData({ ...parts, warehouse: { query } as unknown as Parts['warehouse'] });
  const ofSite = (site: string) => data.events(site, { persons: ['p'], identifiers: [] }, null, 1);
  const asked = Array.from({ length: 105 }, () => ofSite('loud'));
  const quiet = ofSite('quiet');
  await expect(asked.pop()).rejects.toMatchObject({ code: 'person_data_unavailable' });
  expect(asking).toBe(5);
  answering.resolve();
  await Promise.all([quiet, ...asked]);
});
