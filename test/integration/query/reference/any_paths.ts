import type { Field } from '#pipelines/analytics/filters.ts';
import type { PathsQuery } from '#pipelines/analytics/paths.ts';
import type { Random } from '#services/local/demo/world/random.ts';
import { anyFilter } from './any_filter.ts';
import { FROM, NAMES, TO } from './worlds.ts';

const HOUR_MS = 3_600_000;

/** A question of paths, by names or by another field. */
export function anyPaths(random: Random): PathsQuery {
  const [by, texts] = random.pick<[Field | null, readonly [string, ...string[]]]>([
    [null, NAMES],
    [null, NAMES],
    [{ property: ['street'] }, ['Alte Straße 1', 'Οδός Σίνα']],
    [{ property: ['utm', 'campaign'] }, ['spring', 'brand']],
  ]);
  const side = random.pick(['starting_at', 'ending_at', 'through', null] as const);
  return {
    ...{ from: FROM, to: TO - random.whole(0, 5) * 24 * HOUR_MS },
    ...(by === null ? {} : { by }),
    ...(side === null ? {} : { [side]: random.pick(texts) }),
    ...(random.chance(0.5) ? { window_ms: random.pick([0, HOUR_MS, 100 * HOUR_MS]) } : {}),
    ...(random.chance(0.3) ? { events: ['page_view', 'scroll', 'purchase', 'signup'] } : {}),
    ...(random.chance(0.3) ? { filters: [anyFilter(random)] } : {}),
    ...(random.chance(0.8) ? { steps: random.whole(1, 4), top: random.whole(1, 4) } : {}),
  };
}
