import { expect, test } from 'vitest';
import { graphViolationsOf } from './graph_rules.ts';
import { importGraph } from './import_graph.ts';
import { moduleOf } from './source.ts';

type Sources = Record<string, string>;

const violationsIn = (sources: Sources): string[] =>
  graphViolationsOf(importGraph(Object.entries(sources).map(([path, source]) => moduleOf(path, source))));

const PLANTED: [problem: string, sources: Sources][] = [
  [
    "loads a destination's adapter: services/dedup/main.ts -> infra/a.ts -> pipelines/delivery/registry.ts",
    {
      'services/dedup/main.ts': "import { a } from '#infra/a.ts';",
      'infra/a.ts': "import { b } from '#pipelines/delivery/registry.ts';",
      'pipelines/delivery/registry.ts': '',
    },
  ],
  [
    "loads a destination's adapter",
    {
      'services/edge/main.ts': "import type { A } from '#pipelines/delivery/destinations/meta/adapter.ts';",
      'pipelines/delivery/destinations/meta/adapter.ts': '',
    },
  ],
  [
    'a circle of imports: infra/a.ts -> infra/b.ts -> infra/a.ts',
    { 'infra/a.ts': "import { b } from './b.ts';", 'infra/b.ts': "export { a } from './a.ts';" },
  ],
  [
    'a circle of imports: infra/a.ts -> infra/b.ts -> infra/c.ts -> infra/a.ts',
    {
      'infra/main.ts': "import './a.ts';",
      'infra/a.ts': "import type { B } from '#infra/b.ts';",
      'infra/b.ts': "type C = import('./c.ts').C;",
      'infra/c.ts': "import { type A } from './a.ts';",
    },
  ],
];

test.for(PLANTED)('%s', ([problem, sources]) => {
  expect(violationsIn(sources)).toEqual([expect.stringContaining(problem)]);
});

test('nothing wrong where delivery loads the adapters, and dedup a neighbour of theirs', () => {
  const sources = {
    'services/delivery/main.ts': "import { b } from '#pipelines/delivery/registry.ts';",
    'services/dedup/main.ts': "import { b } from '#pipelines/delivery/lanes.ts';",
    'pipelines/delivery/registry.ts': '',
    'pipelines/delivery/lanes.ts': '',
  };
  expect(violationsIn(sources)).toEqual([]);
});
