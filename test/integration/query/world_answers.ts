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
  CERTAIN,
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
  certain: readonly Query[] = [],
) {
  return {
    name,
    asked(ledger: Ledger, from: WorldSeed): Asked[] {
      const drawn = Array.from({ length: QUESTIONS }, (_, number) => {
        const random = randomFor(`question ${from.kind} ${from.seed} ${name} ${number}`);
        return allowed(() => any(random));
      });
      return [...certain, ...drawn].map((query) => ({ query, expected: byHand(untilItsEnd(query), ledger) }));
    },
  };
}

const KINDS = [
  kind('funnel', anyFunnel, funnelByHand, CERTAIN.funnel),
  kind('correlation', anyCorrelation, correlationByHand),
  kind('trends', anyTrends, trendsByHand, CERTAIN.trends),
  kind('retention', anyRetention, retentionByHand, CERTAIN.retention),
  kind('stickiness', anyStickiness, stickinessByHand),
  kind('lifecycle', anyLifecycle, lifecycleByHand),
  kind('top', anyTop, topByHand, CERTAIN.top),
  kind('visits', anyVisits, visitsAnswerByHand, CERTAIN.visits),
  kind('revenue', anyRevenue, revenueByHand, CERTAIN.revenue),
];

/** Asks the worlds of one generator questions of some kinds, for the tests of one file. */
export function answersSuite(of: WorldSeed['kind'], kinds: readonly KindName[]): void {
  const filled = useFilledWorld();
  test.for(SEEDS.filter((seed) => seed.kind === of))(
    'in world $kind $seed every answer equals a computation by hand',
    { timeout: TIMEOUT_MS },
    async (from) => {
      const { world, ledger } = await filled(from);
      for (const { name, asked } of KINDS.filter((one) => kinds.includes(one.name))) {
        for (const { query, expected } of asked(ledger, from)) {
          expect(await world.ask(name, query), `${name}: ${JSON.stringify(query)}`).toEqual(expected);
        }
      }
    },
  );
}
