import { expect, test } from 'vitest';
import { type Random, randomFor } from '#services/local/demo/world/random.ts';
import { useQueryWorld } from './query_world.ts';
import { retentionByHand, topByHand, trendsByHand } from './reference/counts.ts';
import { funnelByHand } from './reference/funnel.ts';
import { anyFunnel, anyRetention, anyTop, anyTrends } from './reference/questions.ts';
import type { Ledger } from './reference/reference_ledger.ts';
import { makeWorld } from './reference/reference_world.ts';
import { QUESTIONS, WORLD_EVENTS, WORLDS } from './worlds_config.ts';

const create = useQueryWorld();
const TIMEOUT_MS = 1_200_000;

interface Asked {
  query: object;
  /** The answer by hand. */
  expected: object;
}

function kind<Query extends object>(
  name: string,
  any: (random: Random) => Query,
  byHand: (query: Query, ledger: Ledger) => object,
) {
  return {
    name,
    make(random: Random, ledger: Ledger): Asked {
      const query = any(random);
      return { query, expected: byHand(query, ledger) };
    },
  };
}

const KINDS = [
  kind('funnel', anyFunnel, funnelByHand),
  kind('trends', anyTrends, trendsByHand),
  kind('retention', anyRetention, retentionByHand),
  kind('top', anyTop, topByHand),
];

const seeds = Array.from({ length: WORLDS }, (_, seed) => seed);

test.for(seeds)('in world %i every answer equals a computation by hand', { timeout: TIMEOUT_MS }, async (seed) => {
  const { ledger, blocks, links } = makeWorld(seed, WORLD_EVENTS);
  const world = await create();
  // Left unmerged, so that rows stand there twice.
  await world.database.warehouse.command({ query: 'SYSTEM STOP MERGES event_rows' });
  await world.store(blocks);
  await world.link(links);
  for (const { name, make } of KINDS) {
    for (let number = 0; number < QUESTIONS; number++) {
      const { query, expected } = make(randomFor(`question ${seed} ${name} ${number}`), ledger);
      expect(await world.ask(name, query), `${name} ${number}: ${JSON.stringify(query)}`).toEqual(expected);
    }
  }
});
