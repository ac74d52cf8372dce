import { createContext } from 'preact';
import { useContext, useMemo } from 'preact/hooks';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { OwnField } from '#pipelines/analytics/filters.ts';
import { namesPersons } from '#pipelines/analytics/personal_fields.ts';
import type { CohortItem } from '#services/control_api/cohorts.ts';
import { type ApiResult, ask, sitePath } from '../api/request.ts';
import { useList, useQuery } from '../api/use_answer.ts';
import { mayAt } from '../session.ts';
import type { Choice } from '../ui/combobox.tsx';
import * as conditions from './conditions.ts';

export type Offered = Choice;

interface SiteNames {
  siteId: string;
  /** Names of its events, the commonest first. */
  events: readonly Offered[];
  /** Its columns and properties, by `fieldKey`. */
  fields: readonly Offered[];
  /** Reads its cohorts anew. */
  again(): void;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const NAMES_MS = 30 * DAY_MS;
const NAMES_MAX = 500;
/** So many values are offered; of a field that has fewer they are all. */
export const VALUES_MAX = 100;
/** Properties are those of the newest so many events. */
const LOOKED_MAX = 300;

const EMPTY: SiteNames = { siteId: '', events: [], fields: [], again: () => undefined };

export const SiteNamesContext = createContext<SiteNames>(EMPTY);

export const useNames = (): SiteNames => useContext(SiteNamesContext);

/** The time that names are taken from, which is the same for an hour, so that the answers are. */
function namesRange(nowMs: number): { from: number; to: number } {
  const to = Math.ceil(nowMs / HOUR_MS) * HOUR_MS;
  return { from: to - NAMES_MS, to };
}

/** What is said of the name of an event that is not among those of a site; undefined where it is, or where not all are known. */
export function eventWarning({ events }: SiteNames, name: string): string | undefined {
  const isKnown = name === '' || events.length === 0 || events.length >= NAMES_MAX;
  return isKnown || events.some(({ value }) => value === name) ? undefined : 'No such event in the last 30 days';
}

/** The same of a property, of which the newest events alone tell. */
export function fieldWarning({ fields }: SiteNames, field: conditions.FilteredField): string | undefined {
  if (!('property' in field) || 'each' in field || field.property.length === 0) return undefined;
  const path = JSON.stringify(field.property);
  const known = fields.map(({ value }) => conditions.fieldNamed(value));
  const properties = known.flatMap((one) => ('property' in one ? JSON.stringify(one.property) : []));
  // Some properties are offered as the column that has them.
  const isKnown = properties.includes(path) || known.some((one) => 'column' in one && one.column === field.property[0]);
  return properties.length === 0 || isKnown ? undefined : 'Not in the newest events';
}

/** Finds out the names of a site. What cannot be found out is not offered, and can be typed. */
export function useSiteNames(siteId: string): SiteNames {
  const mayRead = mayAt('query.events', siteId);
  const mayNamePersons = mayAt('query.persons', siteId);
  const counted = useQuery(siteId, (signal) => {
    const question = { ...namesRange(Date.now()), field: { column: 'event' as const }, limit: NAMES_MAX };
    return ask(siteId, 'top', question, signal);
  });
  const newest = useQuery(`${siteId} ${mayRead}`, (signal): Promise<ApiResult<Listing>> => {
    const question = { received_after: namesRange(Date.now()).from, limit: LOOKED_MAX };
    return mayRead ? ask(siteId, 'live', question, signal) : Promise.resolve(NOTHING);
  });
  const cohorts = useList<CohortItem>(sitePath(siteId, 'cohorts'));
  return useMemo(() => {
    const events = (counted.value?.values ?? []).map(({ value }) => ({ value }));
    const listed = newest.value?.events ?? [];
    // Those who see figures of many alone may not name what singles persons or events out.
    const mayName = (field: OwnField): boolean => mayNamePersons || !namesPersons(field);
    const columns = conditions.COLUMN_FIELDS.filter(mayName);
    const paths = conditions.otherProperties(
      conditions.propertyNames(listed.map((event) => event.properties)),
      columns,
    );
    const properties = conditions.propertyFields(paths).filter(mayName);
    const noteOf = conditions.fieldNotes(listed);
    const offer = (group: string, some: readonly OwnField[]): Offered[] =>
      some.map((field) => ({ ...offered(field, group), ...noted(noteOf(field)) }));
    const visits = conditions.VISIT_FIELDS.map((field) => offered(field, 'Visit'));
    const ofPersons = (['first', 'last'] as const).flatMap((seen) =>
      [...conditions.VISIT_FIELDS, ...columns, ...properties].map((person) =>
        offered({ person, seen }, `Person's ${seen} value`),
      ),
    );
    const ofCohorts = (cohorts.value?.items ?? [])
      .filter(({ conditions: some }) => mayNamePersons || (some !== undefined && !namesPersons(some)))
      .map(({ id, name }) => ({ ...offered({ cohort: id }, 'Cohorts'), label: name }));
    const others = [...ofCohorts, ...ofPersons];
    const fields = [...visits, ...offer('Event fields', columns), ...offer('Properties', properties), ...others];
    return { siteId, events, fields, again: cohorts.again };
  }, [siteId, counted.value, newest.value, cohorts.value, cohorts.again, mayNamePersons]);
}

const NOTHING: ApiResult<Listing> = { ok: true, value: { events: [] }, version: null };
const offered = (field: conditions.FilteredField, group: string): Offered => ({
  ...{ value: conditions.fieldKey(field), label: conditions.fieldLabel(field), group },
});
const noted = (note: string | undefined): Pick<Offered, 'note'> => (note === undefined ? {} : { note });

/** The commonest values of a field, of events of some names where there are any. */
export function useFieldValues(
  field: conditions.FilteredField | null,
  events: readonly string[] | undefined,
): readonly Offered[] {
  const { siteId } = useNames();
  const own = field !== null && 'person' in field ? field.person : field;
  const isPlain =
    own !== null && !('each' in own) && !('cohort' in own) && !('property' in own && own.property.length === 0);
  const plain = isPlain && (mayAt('query.persons', siteId) || !namesPersons(own)) ? own : null;
  const names = (events ?? []).filter((name) => name !== '');
  const asked = useQuery(`${siteId} ${JSON.stringify([plain, names])}`, async (signal) => {
    if (plain === null) return { ok: true, value: [], version: null };
    const some = names.length === 0 ? {} : { events: names };
    const answer = await ask(
      siteId,
      'top',
      { ...namesRange(Date.now()), ...some, field: plain, limit: VALUES_MAX },
      signal,
    );
    return answer.ok ? { ...answer, value: answer.value.values.map(({ value }) => value) } : answer;
  });
  const known = asked.isOld ? null : asked.value;
  return useMemo(() => (known ?? []).filter((value) => value !== '').map((value) => ({ value })), [known]);
}
