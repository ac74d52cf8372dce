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

/** A shortest chain of imports from a module to one of which `isTarget` holds; undefined where there is none. */
export function chainTo(graph: ImportGraph, start: string, isTarget: (path: string) => boolean): string[] | undefined {
  const seen = new Set([start]);
  let chains = [[start]];
  while (chains.length > 0) {
    const longer: string[][] = [];
    for (const chain of chains) {
      for (const next of graph.get(chain.at(-1) ?? '') ?? []) {
        if (seen.has(next)) continue;
        seen.add(next);
        if (isTarget(next)) return [...chain, next];
        longer.push([...chain, next]);
      }
    }
    chains = longer;
  }
  return undefined;
}
