import type { ListedPart } from '#pipelines/query/actor_lists.ts';
import type { PathsPlan } from '#pipelines/query/paths.ts';
import { allOf } from './conditions.ts';
import { askedSpan } from './interval_starts.ts';
import { enteredPathsSql, pathsSql } from './path_sequences.ts';
import type { Binder } from './statement.ts';
import { digestOfText, textsSql } from './text_digests.ts';

type WayPart = Extract<ListedPart, { kind: 'paths' }>;

/** Whose paths go a way, by the event with which each came to the last place of it. */
export function pathActorsSql(siteId: string, part: WayPart, binder: Binder): string {
  const { plan, place, way, begins, last: finish } = part;
  const others = way.flatMap((text, index) => (text === null ? [place + index] : []));
  const end = place + way.length - 1;
  const whole = 'toInt64(length(entries))';
  const wanted = [
    `${at(place)} >= 1`,
    ...way.map((text, index) => isThere(place + index, text, binder)),
    ...(begins ? [`${at(place)} = greatest(1, ${at(-plan.before)})`] : []),
    ...(others.length === 0
      ? []
      : [
          `NOT hasAny((${shownSql(siteId, plan, others, binder)}), [${others.map((one) => `(toInt64(${one}), ${valueAt(one)})`).join(', ')}])`,
        ]),
    ...(finish === 'ends' ? [`${whole} = ${at(end)}`] : []),
    ...(finish === 'goes_on' ? [`${whole} > ${at(end)}`, `${end} = ${plan.after}`] : []),
  ];
  // Sessions of a person are half an hour apart, so that no two are seen from an event of the same time.
  const session = plan.windowMs === null ? 'entries[anchor].2' : 'toUInt64(0)';
  const entry = `entries[${at(end)}]`;
  return `SELECT actor, ${session} AS part, toInt64(${entry}.2) AS at, ${entry}.3 AS mark
FROM (${enteredPathsSql(siteId, plan, binder)}) WHERE ${allOf(wanted)}`;
}

/** Where in a path's values a place is. */
const at = (place: number): string => `anchor + (${place})`;

function isThere(place: number, text: string | null, binder: Binder): string {
  return text === null ? `${valueAt(place)} != 0` : `${valueAt(place)} = ${digestOfText(binder.bind(text, 'String'))}`;
}

const valueAt = (place: number): string => `entries[${at(place)}].1`;

/** The values of some places that are given one by one, each with its place, as the paths themselves rank them. */
function shownSql(siteId: string, plan: PathsPlan, places: readonly number[], binder: Binder): string {
  const values = `SELECT toInt64(place) AS place, value, count() AS total
FROM (${pathsSql(siteId, plan, binder)}) ARRAY JOIN given AS value, range(first - anchor, first - anchor + length(given)) AS place
WHERE place IN (${places.join(', ')}) GROUP BY place, value`;
  const ranked = `SELECT place, value, row_number() OVER (PARTITION BY place ORDER BY total DESC, texts.text) AS rank
FROM (${values}) AS counted LEFT JOIN (${textsSql(siteId, askedSpan(plan, binder), plan.by, binder)}) AS texts ON counted.value = texts.digest`;
  return `SELECT groupArray((place, value)) FROM (${ranked}) WHERE rank <= ${plan.top}`;
}
