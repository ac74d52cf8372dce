import { expect, test } from 'vitest';
import type { FunnelQuery } from '#pipelines/analytics/funnels/query.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import { type Random, randomFor } from '#services/local/demo/world/random.ts';
import { GENERATORS, useFilledWorld } from './filled_world.ts';
import { allowed } from './reference/allowed.ts';
import { CONDITIONS } from './reference/any_filter.ts';
import { COHORTS } from './reference/cohorts.ts';
import { funnelByHand } from './reference/funnel.ts';
import { anyFunnel } from './reference/questions.ts';
import { byPerson, type Deed } from './reference/reference_ledger.ts';
import { revenueByHand } from './reference/revenue.ts';
import { isInCohort, untilItsEnd } from './reference/selecting.ts';
import { trendsByHand } from './reference/trends.ts';
import { FROM, TO } from './reference/worlds.ts';
import { QUESTIONS, SEEDS, WORLD_EVENTS } from './worlds_config.ts';

const filled = useFilledWorld();
const TIMEOUT_MS = 1_200_000;
const DROPPING_QUESTIONS = 2 * QUESTIONS;

test.for(SEEDS)('world $kind $seed has what cohorts, places and refunds can be told apart by', ({ kind, seed }) => {
  const { ledger } = GENERATORS[kind](seed, WORLD_EVENTS);
  const persons = [...byPerson(ledger)];
  for (const { id } of COHORTS) {
    const { size } = new Set(persons.map(([person, life]) => isInCohort(id, { person, life })));
    expect(size, id).toBe(2);
  }
  for (const column of Object.keys(ledger[0]?.entry ?? {}) as (keyof Deed['entry'])[]) {
    expect(new Set(ledger.map(({ entry }) => entry[column])).size, column).toBeGreaterThan(2);
  }
  const revenue = revenueByHand({ from: FROM, to: TO, interval: 'month' }, ledger);
  expect(revenue.currencies.filter(({ refunded, refunds }) => refunded > 0 && refunds > 0).length).toBeGreaterThan(1);
  const { refunds_cut, refunds_without_amount, refunds_without_order } = revenue;
  expect(Math.min(refunds_cut, refunds_without_amount, refunds_without_order)).toBeGreaterThan(0);
});

test('every condition chooses the events that it chooses by hand', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { world, ledger } = await filled({ kind: 'even', seed: 0 });
  for (const condition of CONDITIONS) {
    const query: TrendsQuery = { from: FROM, to: TO, interval: 'month', series: [{ filters: [condition] }] };
    const expected = trendsByHand(untilItsEnd(query), ledger);
    const answer = await world.ask<TrendsAnswer>('trends', query);
    expect(answer, JSON.stringify(condition)).toEqual(expected);
  }
});

/** A funnel from which an exclusion drops actors, beside others that end ways or in strict order. */
function droppingFunnel(random: Random): FunnelQuery {
  for (;;) {
    const query = allowed(() => anyFunnel(random));
    const ends = (query.exclusions ?? []).map((exclusion) => exclusion.ends ?? 'way');
    if (ends.includes('actor') && (ends.includes('way') || query.order === 'strict')) return query;
  }
}

test('exclusions of both kinds together drop the actors that they drop by hand', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { world, ledger } = await filled({ kind: 'even', seed: 0 });
  for (let number = 0; number < DROPPING_QUESTIONS; number++) {
    const query = droppingFunnel(randomFor(`dropping ${number}`));
    const expected = funnelByHand(untilItsEnd(query), ledger);
    expect(await world.ask('funnel', query), `${number}: ${JSON.stringify(query)}`).toEqual(expected);
  }
});
