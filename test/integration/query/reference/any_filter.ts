import type { Condition, Filter } from '#pipelines/analytics/filters.ts';
import type { Random } from '#services/local/demo/world/random.ts';
import { COUNTRIES } from './worlds.ts';

/** Of every operator and every kind of field. */
export const CONDITIONS: readonly [Condition, ...Condition[]] = [
  { field: { column: 'country' }, is: 'equal', to: ['DE', 'FR'] },
  { field: { column: 'country' }, is: 'not_equal', to: [COUNTRIES[2]] },
  { field: { column: 'action_source' }, is: 'equal', to: ['website'] },
  { field: { column: 'device_type' }, is: 'not_equal', to: ['mobile'] },
  { field: { column: 'geo_country' }, is: 'equal', to: ['US'] },
  { field: { column: 'geo_region' }, is: 'not_equal', to: ['Bayern'] },
  { field: { column: 'geo_city' }, is: 'equal', to: ['Paris', 'Berlin'] },
  { field: { column: 'browser' }, is: 'not_set' },
  { field: { property: ['size'] }, is: 'at_most', to: 6 },
  { field: { property: ['size'] }, is: 'above', to: 2 },
  { field: { property: ['size'] }, is: 'equal', to: [3, 4, 5, 'nine'] },
  { field: { property: ['paid'] }, is: 'equal', to: [false] },
  { field: { property: ['utm', 'campaign'] }, is: 'set' },
  { field: { property: ['utm', 'campaign'] }, is: 'not_equal', to: ['brand'] },
  { field: { property: ['utm', 'campaign'] }, is: 'containing', to: 'mm' },
  { field: { property: ['utm', 'campaign'] }, is: 'starting_with', to: 's' },
  { field: { property: ['plan'] }, is: 'ending_with', to: 'ee' },
  { field: { property: ['plan'] }, is: 'not_containing', to: 'ai' },
  { field: { property: ['missing'] }, is: 'not_set' },
  { field: { column: 'value' }, is: 'not_equal', to: [17.5] },
  { field: { column: 'value' }, is: 'below', to: 400 },
  { field: { column: 'value' }, is: 'at_least', to: 20 },
  { field: { property: ['street'] }, is: 'containing', to: 'straße', ignore_case: true },
  { field: { property: ['street'] }, is: 'starting_with', to: 'aLTE', ignore_case: true },
  { field: { property: ['street'] }, is: 'not_containing', to: 'ΟΔΌΣ σ', ignore_case: true },
  { field: { property: ['street'] }, is: 'ending_with', to: 'ÉTÉ', ignore_case: true },
  { field: { property: ['street'] }, is: 'ending_with', to: 'ÉTÉ' },
  { field: { property: ['street'] }, is: 'matching', to: '^(Alte|rue) .*[0-9é]$' },
  { field: { property: ['street'] }, is: 'not_matching', to: 'S{2}|ß' },
  { field: { property: ['size'] }, is: 'matching', to: '[1-4]' },
  { field: { property: ['since'] }, is: 'before', to: '2026-09-10T10:00Z' },
  { field: { property: ['since'] }, is: 'at_or_before', to: '2026-09-10T10:00Z' },
  { field: { property: ['since'] }, is: 'after', to: '2024-02-29' },
  { field: { property: ['since'] }, is: 'at_or_after', to: '2026-09-20 08:30:00.25' },
  { field: { property: ['tags'], each: [] }, is: 'equal', to: ['Grün', 3] },
  { field: { property: ['tags'], each: [] }, is: 'not_equal', to: ['red', true] },
  { field: { property: ['tags'], each: [] }, is: 'set' },
  { field: { property: ['plan'], each: [] }, is: 'not_set' },
  { field: { property: ['items'], each: ['sku'] }, is: 'containing', to: 'ee' },
  { field: { property: ['items'], each: ['sku'] }, is: 'not_matching', to: '^[a-z]+$' },
  { field: { property: ['items'], each: ['cost', 'net'] }, is: 'above', to: 17.5 },
  { field: { person: { property: ['utm', 'campaign'] }, seen: 'first' }, is: 'equal', to: ['spring'] },
  { field: { person: { property: ['utm', 'campaign'] }, seen: 'last' }, is: 'not_equal', to: ['brand'] },
  { field: { person: { property: ['plan'] }, seen: 'last' }, is: 'matching', to: '^fr' },
  { field: { person: { column: 'value' }, seen: 'first' }, is: 'at_least', to: 150 },
  { field: { person: { column: 'value' }, seen: 'last' }, is: 'not_set' },
  { field: { person: { column: 'event' }, seen: 'first' }, is: 'equal', to: ['page_view', 'scroll'] },
  { field: { person: { column: 'geo_city' }, seen: 'last' }, is: 'starting_with', to: 'M' },
  { field: { visit: 'geo_region' }, is: 'set' },
  { field: { visit: 'channel' }, is: 'equal', to: ['Direct', 'Email'] },
  { field: { visit: 'source' }, is: 'set' },
  { field: { visit: 'landing_page' }, is: 'not_containing', to: 'mug' },
  { field: { person: { visit: 'campaign' }, seen: 'last' }, is: 'equal', to: ['spring'] },
  { field: { person: { property: ['since'] }, seen: 'last' }, is: 'before', to: '2026-09-10T10:00Z' },
  { field: { cohort: 'listed' }, is: 'in' },
  { field: { cohort: 'buyers' }, is: 'not_in' },
  { field: { cohort: 'quiet' }, is: 'in' },
  { field: { cohort: 'mixed' }, is: 'not_in' },
  { field: { cohort: 'deep' }, is: 'in' },
  { field: { cohort: 'near' }, is: 'not_in' },
];

/** A condition, or now and then a group of some, in which there may be others. */
export function anyFilter(random: Random, depth = 0): Filter {
  if (depth === 3 || !random.chance(0.25)) return random.pick(CONDITIONS);
  const some = Array.from({ length: random.whole(1, 3) }, () => anyFilter(random, depth + 1));
  return random.chance(0.6) ? { any: some } : { all: some };
}
