import { chainTo, circlesOf, type ImportGraph } from './import_graph.ts';

const ADAPTERS = /^pipelines\/delivery\/(destinations\/|registry\.ts$)/;

/** Processes that have nothing to do with destinations load none of their adapters. */
export const WITHOUT_ADAPTERS = ['dedup', 'identity', 'quota', 'warehouse', 'edge', 'replay'].map(
  (service) => `services/${service}/main.ts`,
);

/** What breaks the rules of the house in how modules hang together, in words. */
export function graphViolationsOf(graph: ImportGraph): string[] {
  return [...adaptersLoaded(graph), ...circlesOf(graph).map((chain) => `a circle of imports: ${chain.join(' -> ')}`)];
}

function adaptersLoaded(graph: ImportGraph): string[] {
  return WITHOUT_ADAPTERS.flatMap((main) => {
    const chain = chainTo(graph, main, (path) => ADAPTERS.test(path));
    return chain === undefined ? [] : [`${main} loads a destination's adapter: ${chain.join(' -> ')}`];
  });
}
