import { expect, test } from 'vitest';
import { PERSON_CONDITIONS_MAX } from '#pipelines/query/filter_shapes.ts';
import type { FunnelQuery, TrendsQuery } from '#pipelines/query/shapes.ts';
import type { TrendsAnswer } from '#pipelines/query/trends_answer.ts';
import { type Random, randomFor } from '#services/local/demo/world/random.ts';
import { useFilledWorld } from './filled_world.ts';
import { lifecycleByHand, stickinessByHand } from './reference/activity.ts';
import { CONDITIONS } from './reference/any_filter.ts';
import { correlationByHand } from './reference/correlation.ts';
import { retentionByHand, topByHand } from './reference/counts.ts';
import { funnelByHand } from './reference/funnel.ts';
import { anyCorrelation, anyFunnel, anyLifecycle, anyRetention, anyStickiness, anyTop } from './reference/questions.ts';
import type { Ledger } from './reference/reference_ledger.ts';
import { FROM, TO } from './reference/reference_world.ts';
import { untilItsEnd } from './reference/selecting.ts';
import { anyTrends } from './reference/trend_questions.ts';
import { trendsByHand } from './reference/trends.ts';
import { QUESTIONS, SEEDS } from './worlds_config.ts';

const filled = useFilledWorld();
const TIMEOUT_MS = 1_200_000;
const DROPPING_QUESTIONS = 2 * QUESTIONS;

interface Asked {
  query: object;
  /** The answer by hand. */
  expected: object;
}

function kind<Query extends { to: number }>(
  name: string,
  any: (random: Random) => Query,
  byHand: (query: Query, ledger: Ledger) => object,
) {
  return {
    name,
    make(random: Random, ledger: Ledger): Asked {
      const query = allowed(() => any(random));
      return { query, expected: byHand(untilItsEnd(query), ledger) };
    },
  };
}

/** The first of some random questions that no limit refuses. */
function allowed<Query>(make: () => Query): Query {
  for (;;) {
    const query = make();
    const ofPersons = JSON.stringify(query).match(/"seen":/g) ?? [];
    if (ofPersons.length <= PERSON_CONDITIONS_MAX) return query;
  }
}

const KINDS = [
  kind('funnel', anyFunnel, funnelByHand),
  kind('correlation', anyCorrelation, correlationByHand),
  kind('trends', anyTrends, trendsByHand),
  kind('retention', anyRetention, retentionByHand),
  kind('stickiness', anyStickiness, stickinessByHand),
  kind('lifecycle', anyLifecycle, lifecycleByHand),
  kind('top', anyTop, topByHand),
];

test.for(SEEDS)(
  'in world $kind $seed every answer equals a computation by hand',
  { timeout: TIMEOUT_MS },
  async (from) => {
    const { world, ledger } = await filled(from);
    for (const { name, make } of KINDS) {
      for (let number = 0; number < QUESTIONS; number++) {
        const { query, expected } = make(randomFor(`question ${from.kind} ${from.seed} ${name} ${number}`), ledger);
        expect(await world.ask(name, query), `${name} ${number}: ${JSON.stringify(query)}`).toEqual(expected);
      }
    }
  },
);

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
