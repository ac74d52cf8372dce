import { dirname, join } from 'node:path/posix';
import type { Module } from './source.ts';

/** Which of our own modules each module imports; imports of types only are imports too. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** The graph of these modules, by their paths from the repository's root. */
export function importGraph(modules: readonly Module[]): ImportGraph {
  const ownImports = ({ path, imports }: Module) => imports.flatMap((specifier) => ownPath(path, specifier) ?? []);
  return new Map(modules.map((module) => [module.path, ownImports(module)]));
}

/** The path an import of our own code means; undefined for a package's. */
export function ownPath(path: string, specifier: string): string | undefined {
  if (specifier.startsWith('#')) return specifier.slice(1);
  if (specifier.startsWith('/')) return specifier;
  return specifier.startsWith('.') ? join(dirname(path), specifier) : undefined;
}

/** A shortest chain of imports, one at least, from a module to one of which `isTarget` holds. */
export function chainTo(graph: ImportGraph, start: string, isTarget: (path: string) => boolean): string[] | undefined {
  const seen = new Set([start]);
  let chains = [[start]];
  while (chains.length > 0) {
    const longer: string[][] = [];
    for (const chain of chains) {
      for (const next of graph.get(chain.at(-1) ?? '') ?? []) {
        if (isTarget(next)) return [...chain, next];
        if (seen.has(next)) continue;
        seen.add(next);
        longer.push([...chain, next]);
      }
    }
    chains = longer;
  }
  return undefined;
}

/**
 * The circles of imports, each as a chain from a module back to itself: for every module that lies on one, a shortest
 * through it, without those that run through the same modules.
 */
export function circlesOf(graph: ImportGraph): string[][] {
  const chains = [...graph.keys()].flatMap((path) => {
    const chain = chainTo(graph, path, (target) => target === path);
    return chain === undefined ? [] : [chain];
  });
  return [...new Map(chains.toReversed().map((chain) => [[...new Set(chain)].sort().join(' '), chain])).values()];
}
