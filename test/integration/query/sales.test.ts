import { expect, test } from 'vitest';
import { basePersonId } from '#pipelines/identity/resolve.ts';
import type { FunnelAnswer } from '#pipelines/query/funnel_answer.ts';
import type { Listing } from '#pipelines/query/listing.ts';
import { purchaseFunnel, START, storedRow } from './few_rows.ts';
import { useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const TILL = { action_source: 'physical_store', caller: 'server' } as const;
const TIME = { from: purchaseFunnel.from, to: purchaseFunnel.to, fresh: true };
const link = (from: string, to: string, version = 1) => ({
  site_id: 'shop',
  kind: 'person' as const,
  person_id: basePersonId('shop', from),
  target: basePersonId('shop', to),
  first_seen: START,
  version,
});

async function reached(world: Awaited<ReturnType<typeof create>>): Promise<number[]> {
  const { steps } = await world.ask<FunnelAnswer>('funnel', purchaseFunnel);
  return steps.map((step) => step.reached);
}

test("a sale at the till with the browser's distinct id completes the web funnel of that person only", async () => {
  const world = await create();
  await world.store([
    [storedRow('ann', 'page_view', 0), storedRow('bob', 'page_view', 1), storedRow('ann', 'purchase', 60, TILL)],
  ]);
  expect(await reached(world)).toEqual([2, 1]);
});

test('a sale at the till with only the e-mail completes it once the person is known, though that is after the sale', async () => {
  const world = await create();
  await world.store([
    [storedRow('ann', 'page_view', 0), storedRow('bob', 'page_view', 1), storedRow('till-7', 'purchase', 60, TILL)],
  ]);
  expect(await reached(world)).toEqual([2, 0]);
  await world.link([link('till-7', 'bob')]);
  expect(await reached(world)).toEqual([2, 1]);
  for (const named of [
    { distinct_id: 'till-7' },
    { distinct_id: 'bob' },
    { person_id: basePersonId('shop', 'till-7') },
  ]) {
    const { events } = await world.ask<Listing>('timeline', { ...TIME, ...named });
    expect(events.map(({ distinct_id, event }) => `${distinct_id} ${event}`)).toEqual([
      'till-7 purchase',
      'bob page_view',
    ]);
  }
});

test('a merge that is corrected by a newer one counts as the newer one has it', async () => {
  const world = await create();
  await world.store([
    [storedRow('ann', 'page_view', 0), storedRow('bob', 'page_view', 1), storedRow('x', 'purchase', 2)],
  ]);
  await world.link([link('x', 'ann', 1), link('x', 'bob', 2)]);
  const { events } = await world.ask<Listing>('timeline', { ...TIME, distinct_id: 'x' });
  expect(events.map(({ distinct_id }) => distinct_id)).toEqual(['x', 'bob']);
});
