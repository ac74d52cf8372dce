import { test } from 'vitest';
import { browserOf, measureEdge, setUpSite } from '#test/bench/edge/bench.ts';
import { withEdgeParts } from '#test/bench/edge_alone.ts';
import { measureStages } from '#test/bench/stages/bench.ts';
import { BUDGET, compare } from './recorded.ts';

const STAGES = { events: 150_000, rounds: 3 };
const EDGE = { rounds: 8, warmMs: 5_000, runMs: 2_000 };
/** Less is not told apart from noise. */
const TIMES_MAX = 1.05;
/** Quota takes a tenth of a second in the whole run, and what the parts take depends on how they gather it. */
const OTHERS_TIMES_MAX = 1.5;
const PASSED = ['browser', 'dedup', 'identity', 'quota', 'warehouse'];

test('each stage takes no more CPU for an event than its budget, beside a server that only parses and answers', {
  timeout: 1_200_000,
}, async () => {
  await withEdgeParts(setUpSite, async (edge) => {
    const stages = await measureStages(edge, STAGES.events, STAGES.rounds);
    const metrics = [...stages, ...(await measureEdge(edge, 'browser', browserOf(edge), EDGE, null))];
    // What a machine does beside it only adds to the CPU time of a piece of work: the least is nearest to what it takes.
    const least = (name: string): number =>
      Math.min(...metrics.filter((metric) => metric.name.endsWith(name)).flatMap(({ values }) => values));
    const floors = (name: string): number => least(name) / least(': CPU of the floor');
    const ofPart = (part: string): number => PASSED.reduce((sum, stage) => sum + floors(`${stage}: CPU of ${part}`), 0);
    const costs = {
      edge: floors('browser: CPU of the edge'),
      dedup: floors('dedup: CPU'),
      identity: floors('identity: CPU'),
      warehouse: floors('warehouse: CPU'),
    };
    const others = {
      quota: floors('quota: CPU'),
      kafka: ofPart('kafka'),
      redis: ofPart('redis'),
      clickhouse: ofPart('clickhouse'),
    };
    compare('CPU of an event, in floors', others, OTHERS_TIMES_MAX, BUDGET);
    compare('CPU of an event, in floors', costs, TIMES_MAX, BUDGET);
  });
});
