import type { PathsAnswer, PathsQuery } from '#pipelines/analytics/paths.ts';
import type { PartQuery } from '#pipelines/analytics/people/query.ts';
import { sessions } from './funnel.ts';
import { byPerson, type Deed, type Ledger } from './reference_ledger.ts';
import { isSelected, passesAll, textOf } from './selecting.ts';

/** What is given of one path: its values by place, each with the first event of it, and whether it goes on behind the last one. */
interface Given {
  values: [place: number, value: string, deed: Deed][];
  goesOn: boolean;
}

/** Paths by following each of them. */
export function pathsByHand(query: PathsQuery, ledger: Ledger): PathsAnswer {
  const given = sequences(query, ledger).flatMap((deeds) => givenOf(query, deeds));
  const places = [...new Set(given.flatMap(({ values }) => values.map(([place]) => place)))].sort((a, b) => a - b);
  const shown = new Map(places.map((place) => [place, shownAt(place, given, query.top ?? 10)]));
  const name = (place: number, value: string): string | null =>
    shown.get(place)?.includes(value) === true ? value : null;
  return {
    paths: given.length,
    places: places.map((place) => placeOf(place, given, (value) => name(place, value))),
    edges: edgesOf(given, name),
  };
}

function sequences(query: PathsQuery, ledger: Ledger): Deed[][] {
  const passes = (deed: Deed): boolean =>
    passesAll(query.filters, deed) && isSelected(query.events === undefined ? {} : { events: query.events }, deed);
  const persons = [...byPerson(ledger.filter(({ at }) => at >= query.from && at < query.to)).values()];
  const cut = query.window_ms === undefined ? persons.flatMap(sessions) : persons;
  return cut.map((deeds) => deeds.filter((deed) => passes(deed) && nodeOf(query, deed) !== ''));
}

const nodeOf = ({ by = { column: 'event' } }: PathsQuery, deed: Deed): string => textOf(by, deed);

function givenOf(query: PathsQuery, deeds: readonly Deed[]): Given[] {
  const {
    starting_at: from,
    ending_at: to,
    through,
    steps = 5,
    window_ms: windowMs = Number.POSITIVE_INFINITY,
  } = query;
  const wanted = from ?? to ?? through;
  const anchor = wanted === undefined ? deeds[0] : deeds.find((deed) => nodeOf(query, deed) === wanted);
  if (anchor === undefined) return [];
  const near = deeds.filter(({ at }) => Math.abs(at - anchor.at) <= windowMs);
  const at = near.indexOf(anchor);
  const later = to === undefined ? runs(query, near.slice(at)).slice(1) : [];
  const sooner = to === undefined && through === undefined ? [] : runs(query, near.slice(0, at)).toReversed();
  const entry = (place: number, deed: Deed): Given['values'][number] => [place, nodeOf(query, deed), deed];
  const values = [
    ...sooner
      .slice(0, steps)
      .map((deed, index) => entry(-1 - index, deed))
      .reverse(),
    entry(0, anchor),
    ...later.slice(0, steps).map((deed, index) => entry(index + 1, deed)),
  ];
  return [{ values, goesOn: later.length > steps }];
}

/** The first event of each run of those with the same text. */
function runs(query: PathsQuery, deeds: readonly Deed[]): Deed[] {
  return deeds.filter((deed, index) => {
    const before = deeds[index - 1];
    return before === undefined || nodeOf(query, before) !== nodeOf(query, deed);
  });
}

/** The whole way of each path, with null for values that are not given. */
export function waysByHand(query: PathsQuery, ledger: Ledger): Pick<PartQuery<'paths'>, 'place' | 'way'>[] {
  const given = sequences(query, ledger).flatMap((deeds) => givenOf(query, deeds));
  const shown = new Map<number, string[]>();
  const shownOf = (place: number): string[] => {
    const known = shown.get(place) ?? shownAt(place, given, query.top ?? 10);
    shown.set(place, known);
    return known;
  };
  return given.map(({ values }) => ({
    place: values[0]?.[0] ?? 0,
    way: values.map(([place, value]) => (shownOf(place).includes(value) ? value : null)),
  }));
}

/** The events by which paths that go a way came to the last place of it. */
export function wayDeeds({ paths, place, way, begins, last: finish }: PartQuery<'paths'>, ledger: Ledger): Deed[] {
  const given = sequences(paths, ledger).flatMap((deeds) => givenOf(paths, deeds));
  const shown = way.map((_, index) => shownAt(place + index, given, paths.top ?? 10));
  return given.flatMap(({ values, goesOn }) => {
    const from = values.findIndex(([at]) => at === place);
    const part = from === -1 ? [] : values.slice(from, from + way.length);
    const last = part.at(-1);
    const goesThere =
      part.length === way.length &&
      part.every(([, value], index) =>
        way[index] === null ? shown[index]?.includes(value) === false : way[index] === value,
      );
    if (last === undefined || !goesThere || (begins === true && from !== 0)) return [];
    const isLast = from + way.length === values.length;
    if (finish === 'ends' && (!isLast || goesOn)) return [];
    return finish === 'goes_on' && (!isLast || !goesOn) ? [] : [last[2]];
  });
}

/** The values of a place that are given by name. */
function shownAt(place: number, given: readonly Given[], top: number): string[] {
  const here = given.flatMap(({ values }) => values.filter(([at]) => at === place).map(([, value]) => value));
  return [...Map.groupBy(here, (value) => value)]
    .sort(([one, a], [other, b]) => b.length - a.length || (one < other ? -1 : 1))
    .slice(0, top)
    .map(([value]) => value);
}

function placeOf(
  place: number,
  given: readonly Given[],
  name: (value: string) => string | null,
): PathsAnswer['places'][number] {
  const here = given.flatMap((path) => {
    const index = path.values.findIndex(([at]) => at === place);
    const value = path.values[index]?.[1];
    return value === undefined ? [] : [{ path, value, isFirst: index === 0, isLast: index === path.values.length - 1 }];
  });
  const figures = (some: typeof here) => ({
    paths: some.length,
    begins: some.filter(({ isFirst }) => isFirst).length,
    ends: some.filter(({ isLast, path }) => isLast && !path.goesOn).length,
    goes_on: some.filter(({ isLast, path }) => isLast && path.goesOn).length,
  });
  const byValue = [...Map.groupBy(here, ({ value }) => name(value))];
  const rest = here.filter(({ value }) => name(value) === null);
  return {
    place,
    values: byValue
      .flatMap(([value, some]) => (value === null ? [] : [{ value, ...figures(some) }]))
      .sort((a, b) => b.paths - a.paths || (a.value < b.value ? -1 : 1)),
    other: rest.length === 0 ? null : { values: new Set(rest.map(({ value }) => value)).size, ...figures(rest) },
  };
}

function edgesOf(given: readonly Given[], name: (place: number, value: string) => string | null): PathsAnswer['edges'] {
  const went = given.flatMap(({ values }) =>
    values.slice(1).map(([place, value], index) => {
      const [before = 0, source = ''] = values[index] ?? [];
      return JSON.stringify({ place: before, from: name(before, source), to: name(place, value) });
    }),
  );
  return [...Map.groupBy(went, (edge) => edge)].map(([edge, some]) => ({ ...JSON.parse(edge), paths: some.length }));
}
