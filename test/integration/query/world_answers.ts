import { expect, test } from 'vitest';
import { type Random, randomFor } from '#services/local/demo/world/random.ts';
import { useFilledWorld } from './filled_world.ts';
import { lifecycleByHand, stickinessByHand } from './reference/activity.ts';
import { allowed } from './reference/allowed.ts';
import { correlationByHand } from './reference/correlation.ts';
import { retentionByHand, topByHand } from './reference/counts.ts';
import { funnelByHand } from './reference/funnel.ts';
import {
  anyCorrelation,
  anyFunnel,
  anyLifecycle,
  anyRetention,
  anyStickiness,
  anyTop,
  anyVisits,
} from './reference/questions.ts';
import type { Ledger } from './reference/reference_ledger.ts';
import { anyRevenue, revenueByHand } from './reference/revenue.ts';
import { untilItsEnd } from './reference/selecting.ts';
import { anyTrends } from './reference/trend_questions.ts';
import { trendsByHand } from './reference/trends.ts';
import { visitsAnswerByHand } from './reference/visits.ts';
import { QUESTIONS, SEEDS, type WorldSeed } from './worlds_config.ts';

const TIMEOUT_MS = 1_200_000;

type KindName =
  | 'funnel'
  | 'correlation'
  | 'trends'
  | 'retention'
  | 'stickiness'
  | 'lifecycle'
  | 'top'
  | 'visits'
  | 'revenue';

interface Asked {
  query: object;
  /** The answer by hand. */
  expected: object;
}

function kind<Query extends { to: number }>(
  name: KindName,
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

const KINDS = [
  kind('funnel', anyFunnel, funnelByHand),
  kind('correlation', anyCorrelation, correlationByHand),
  kind('trends', anyTrends, trendsByHand),
  kind('retention', anyRetention, retentionByHand),
  kind('stickiness', anyStickiness, stickinessByHand),
  kind('lifecycle', anyLifecycle, lifecycleByHand),
  kind('top', anyTop, topByHand),
  kind('visits', anyVisits, visitsAnswerByHand),
  kind('revenue', anyRevenue, revenueByHand),
];

/** Asks the worlds of one generator questions of some kinds, for the tests of one file. */
export function answersSuite(of: WorldSeed['kind'], kinds: readonly KindName[]): void {
  const filled = useFilledWorld();
  test.for(SEEDS.filter((seed) => seed.kind === of))(
    'in world $kind $seed every answer equals a computation by hand',
    { timeout: TIMEOUT_MS },
    async (from) => {
      const { world, ledger } = await filled(from);
      for (const { name, make } of KINDS.filter((one) => kinds.includes(one.name))) {
        for (let number = 0; number < QUESTIONS; number++) {
          const { query, expected } = make(randomFor(`question ${from.kind} ${from.seed} ${name} ${number}`), ledger);
          expect(await world.ask(name, query), `${name} ${number}: ${JSON.stringify(query)}`).toEqual(expected);
        }
      }
    },
  );
}
