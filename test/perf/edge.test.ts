import { expect, test } from 'vitest';
import { best, edgeSubject, PARSE, runAll } from '#test/bench/edge/bench.ts';
import { withEdgeParts } from '#test/bench/edge_alone.ts';
import { compare } from './recorded.ts';

const TIMES = { rounds: 2, warmMs: 5_000, runMs: 5_000 };

test('the edge takes as much CPU for an event as recorded, beside a server that only parses and answers', {
  timeout: 300_000,
}, async () => {
  await withEdgeParts(
    async () => undefined,
    async (edge) => {
      const figures = await runAll([PARSE, edgeSubject(edge)], TIMES);
      expect([...figures.values()].flat().map(({ failures }) => failures)).toEqual(Array(2 * TIMES.rounds).fill({}));
      compare('edge', { 'CPU of an event, in parsed ones': best(figures, 'edge') / best(figures, PARSE.name) });
    },
  );
});
