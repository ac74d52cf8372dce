import type { PathsAnswer, PathsQuery } from '#pipelines/query/paths.ts';
import { sessions } from './funnel.ts';
import { byPerson, type Deed, type Ledger } from './reference_ledger.ts';
import { isSelected, passesAll, textOf } from './selecting.ts';

/** What is given of one path: its values by place, and whether it goes on behind the last one. */
interface Given {
  values: [place: number, value: string][];
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
  const later =
    to === undefined ? folded([anchor, ...near.slice(at + 1)].map((deed) => nodeOf(query, deed))).slice(1) : [];
  const sooner =
    to === undefined && through === undefined
      ? []
      : folded([anchor, ...near.slice(0, at).reverse()].map((deed) => nodeOf(query, deed))).slice(1);
  const values = [
    ...sooner
      .slice(0, steps)
      .map((value, index): [number, string] => [-1 - index, value])
      .reverse(),
    [0, nodeOf(query, anchor)] as [number, string],
    ...later.slice(0, steps).map((value, index): [number, string] => [index + 1, value]),
  ];
  return [{ values, goesOn: later.length > steps }];
}

function folded(values: readonly string[]): string[] {
  return values.filter((value, index) => value !== values[index - 1]);
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
