import { expect, test } from 'vitest';
import type { PathsAnswer, PathsQuery } from '#pipelines/analytics/paths.ts';
import { randomFor } from '#services/local/demo/world/random.ts';
import { purchaseFunnel, storedRow } from './few_rows.ts';
import { useFilledWorld } from './filled_world.ts';
import { useQueryWorld } from './query_world.ts';
import { anyPaths } from './reference/any_paths.ts';
import { pathsByHand } from './reference/paths.ts';
import { CERTAIN } from './reference/questions.ts';
import { untilItsEnd } from './reference/selecting.ts';
import { QUESTIONS, SEEDS } from './worlds_config.ts';

const filled = useFilledWorld();
const create = useQueryWorld();
const TIMEOUT_MS = 1_200_000;
const { from, to } = purchaseFunnel;

/** Edges of one count have no order that matters. */
const byWay = (edges: PathsAnswer['edges']) =>
  edges.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

test.for(SEEDS)(
  'in world $kind $seed paths are those that are followed by hand',
  { timeout: TIMEOUT_MS },
  async (from) => {
    const { world, ledger } = await filled(from);
    const drawn = Array.from({ length: QUESTIONS }, (_, at) =>
      anyPaths(randomFor(`paths ${from.kind} ${from.seed} ${at}`)),
    );
    for (const query of [...CERTAIN.paths, ...drawn]) {
      const { edges, ...answer } = await world.ask<PathsAnswer>('paths', query);
      const { edges: expected, ...other } = pathsByHand(untilItsEnd(query), ledger);
      expect(answer, JSON.stringify(query)).toEqual(other);
      expect(byWay(edges), JSON.stringify(query)).toEqual(byWay(expected));
      expect(edges.map(({ paths }) => paths)).toEqual(edges.map(({ paths }) => paths).toSorted((a, b) => b - a));
      expectSums({ ...answer, edges });
    }
  },
);

/** What goes into a value and begins there are its paths, and so are what goes out of it, ends and goes on. */
function expectSums({ places, edges }: PathsAnswer): void {
  const sum = (some: PathsAnswer['edges']): number => some.reduce((total, { paths }) => total + paths, 0);
  for (const { place, values, other } of places) {
    const nodes = [...values, ...(other === null ? [] : [{ ...other, value: null }])];
    for (const { value, paths, begins, ends, goes_on } of nodes) {
      const into = edges.filter((edge) => edge.place === place - 1 && edge.to === value);
      const out = edges.filter((edge) => edge.place === place && edge.from === value);
      expect([begins + sum(into), ends + goes_on + sum(out)]).toEqual([paths, paths]);
    }
  }
}

test('what follows itself is one place of a path, under every name of the same thing', async () => {
  const world = await create();
  const names = ['page', '$pageview', 'page_view', 'scroll', 'scroll', 'purchase', 'page_view'];
  await world.store([names.map((name, minute) => storedRow('a', name, minute))]);
  const query: PathsQuery = { from, to, starting_at: '$pageview', steps: 2 };
  const { paths, edges, places } = await world.ask<PathsAnswer>('paths', query);
  expect([paths, edges]).toEqual([
    1,
    [
      { place: 0, from: 'page_view', to: 'scroll', paths: 1 },
      { place: 1, from: 'scroll', to: 'purchase', paths: 1 },
    ],
  ]);
  const last = { value: 'purchase', paths: 1, begins: 0, ends: 0, goes_on: 1 };
  expect(places.at(-1)).toEqual({ place: 2, values: [last], other: null });
  const { status, body } = await world.control.call('POST', '/v1/query/shop/paths', {
    body: { ...query, through: 'a' },
  });
  expect([status, body.problems[0].field]).toEqual([400, 'through']);
});
