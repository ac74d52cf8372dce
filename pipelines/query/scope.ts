import type { Filter } from './filter_shapes.ts';

/** Which events a whole question is about: those of a time, as the filters choose them. */
export interface Scope {
  from: number;
  to: number;
  filters: readonly Filter[];
}

export function scopeOf({ from, to, filters = [] }: Pick<Scope, 'from' | 'to'> & { filters?: Filter[] }): Scope {
  return { from, to, filters };
}
