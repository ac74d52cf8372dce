// What the form of a cohort holds, the cohort that it sends, and the members that a file has.

import { type CohortCondition, DAYS_MAX, TIMES_MAX } from '#pipelines/analytics/cohorts/cohort.ts';
import { type CohortInput, type CohortItem, kindOf, type MemberRefusal } from '#services/control_api/cohorts.ts';
import { SUBJECT_NAMES } from '#services/control_api/persons.ts';
import type { ApiError, FieldProblem } from '../../api/request.ts';
import { type ConditionDraft, type FilterDraft, finished, type SelectionDraft } from '../../questions/conditions.ts';
import { idNamed } from '../../questions/saved.ts';

type Did = Extract<CohortCondition, { did: unknown }>;
/** Within which days: any, the last ones, or those between two. */
type Within = 'ever' | 'last' | 'between';

export interface DidDraft {
  did: SelectionDraft;
  is: NonNullable<Did['is']>;
  times: string;
  within: Within;
  lastDays: string;
  since: string;
  until: string;
}

export interface CohortDraft {
  name: string;
  kind: 'conditions' | 'list';
  match: 'all' | 'any';
  dids: DidDraft[];
  /** Values of the person, and other cohorts. */
  persons: FilterDraft[];
}

export const NEW_DID: DidDraft = {
  ...{ did: {}, is: 'at_least', times: '1', within: 'last', lastDays: '30', since: '', until: '' },
};
export const NEW_DRAFT: CohortDraft = { name: '', kind: 'conditions', match: 'all', dids: [NEW_DID], persons: [] };

export const IS_LABELS = { at_least: 'at least', at_most: 'at most', exactly: 'exactly' } as const;
export const WITHIN_LABELS = { ever: 'at any time', last: 'in the last days', between: 'between two days' } as const;
export const MATCH_LABELS = { all: 'All of these hold', any: 'Any of these holds' } as const;
export const KIND_LABELS = { conditions: 'By conditions', list: 'A list' } as const;

/** The form of a cohort that is there. */
export function draftOfCohort(cohort: CohortInput): CohortDraft {
  const { name, match = 'all', conditions = [] } = cohort;
  return {
    ...{ name, match, kind: kindOf(cohort) },
    dids: conditions.flatMap((one) => ('did' in one ? [draftOfDid(one)] : [])),
    persons: conditions.flatMap((one) => ('did' in one ? [] : [one as ConditionDraft])),
  };
}

function draftOfDid({ did, is = 'at_least', times = 1, last_days, since = '', until = '' }: Did): DidDraft {
  const within = last_days !== undefined ? 'last' : since !== '' || until !== '' ? 'between' : 'ever';
  return { did, is, times: String(times), within, lastDays: String(last_days ?? NEW_DID.lastDays), since, until };
}

/** The conditions of a form in which nothing is wrong. */
export function conditionsOf({ dids, persons }: Pick<CohortDraft, 'dids' | 'persons'>): CohortCondition[] {
  const said = dids.map(({ did, is, times, within, lastDays, since, until }) => ({
    ...{ did: finished(did), is, times: Number(times) },
    ...(within === 'last' && { last_days: Number(lastDays) }),
    ...(within === 'between' && { ...(since !== '' && { since }), ...(until !== '' && { until }) }),
  }));
  return [...said, ...persons] as CohortCondition[];
}

const isWhole = (text: string, min: number, max: number): boolean =>
  /^\d{1,9}$/.test(text.trim()) && Number(text) >= min && Number(text) <= max;
const isFinished = (filters: FilterDraft[] = []): boolean => finished({ filters }).filters.length === filters.length;

/**
 * What is wrong with the conditions of a form, by their places in what would be sent. The service tells a condition that is
 * none of its kinds as being wrong for each of them, which would say nothing to people.
 */
export function draftProblems({ kind, dids, persons }: CohortDraft): FieldProblem[] {
  if (kind === 'list') return [];
  const wrong = (isRight: boolean, field: string, message: string): FieldProblem[] =>
    isRight ? [] : [{ code: 'field_malformed', field, message }];
  return [
    ...wrong(dids.length + persons.length > 0, 'conditions', 'needs an event or a filter'),
    ...dids.flatMap(({ did, times, within, lastDays, since, until }, at) => [
      ...wrong(isFinished(did.filters), `conditions[${at}].did`, 'has a filter without a property or value'),
      ...wrong(isWhole(times, 0, TIMES_MAX), `conditions[${at}].times`, `must be a whole number up to ${TIMES_MAX}`),
      ...wrong(
        within !== 'last' || isWhole(lastDays, 1, DAYS_MAX),
        `conditions[${at}].last_days`,
        `must be a whole number from 1 to ${DAYS_MAX}`,
      ),
      ...wrong(within !== 'between' || since !== '' || until !== '', `conditions[${at}].since`, 'needs a day'),
    ]),
    ...persons.flatMap((one, at) =>
      wrong(isFinished([one]), `conditions[${dids.length + at}]`, 'needs a property and a value'),
    ),
  ];
}

/** What is told of an event's fields stands there; this is the rest. */
export function otherProblems(failure: ApiError | null, { dids }: CohortDraft): string {
  const others = (failure?.problems ?? []).filter(
    ({ field }) => /^conditions\b/.test(field) && !dids.some((_, at) => field.startsWith(`conditions[${at}]`)),
  );
  return others.map(({ message }) => message).join(' ');
}

/** What is sent of a form; a new cohort gets an id by its name. */
export function cohortOf(draft: CohortDraft, before: CohortItem | null, taken: readonly string[]): CohortInput {
  const { name, kind, match } = draft;
  const id = before?.id ?? idNamed(name, taken);
  return kind === 'list' ? { id, name } : { id, name, match, conditions: conditionsOf(draft) };
}

export type MemberKind = (typeof SUBJECT_NAMES)[number];
export const MEMBER_LABELS: Readonly<Record<MemberKind, string>> = {
  distinct_id: 'User or visitor ids',
  email: 'E-mail addresses, or their SHA-256',
  person_id: 'Person ids',
  phone: 'Phone numbers',
  external_id: 'External ids',
};

/** A request has 1 MiB, and a character up to three bytes. */
const STEP_CHARACTERS = 340_000;

/** What is done with members. */
export type MemberAction = 'add' | 'replace' | 'remove';
export const MEMBER_ACTIONS: Readonly<Record<MemberAction, string>> = {
  add: 'Add members',
  replace: 'Replace the list',
  remove: 'Remove members',
};

/** A member of a file, and its line from 1. */
interface MemberLine {
  line: number;
  member: Record<string, string>;
}

/** The first cell of each line of a file, in steps of so many as a request takes; a first line that names the kind is none. */
export function memberSteps(text: string, kind: MemberKind, most: number): MemberLine[][] {
  const cells = text.split(/\r\n|\r|\n/).map((line) => firstCell(line));
  const steps: MemberLine[][] = [];
  let left = 0;
  for (const [at, value] of cells.entries()) {
    if (value === '' || (at === 0 && (SUBJECT_NAMES as string[]).includes(value))) continue;
    const size = JSON.stringify(value).length + kind.length + 8;
    if (left < size || (steps.at(-1)?.length ?? most) >= most) {
      steps.push([]);
      left = STEP_CHARACTERS;
    }
    steps.at(-1)?.push({ line: at + 1, member: { [kind]: value } });
    left -= size;
  }
  return steps;
}

/** Why a line was not taken, without what stands there. */
export const refusalText = (code: MemberRefusal, kind: MemberKind): string =>
  code === 'unreadable'
    ? MEMBER_FAULTS[kind]
    : code === 'erased'
      ? 'a person who was erased'
      : 'a placeholder, as null or nobody@…';

const FAULTS_SHOWN = 20;

/** Those that are shown of what was not taken, and how many others there are. */
export const firstFaults = (faults: readonly string[], count: number): string[] =>
  count <= FAULTS_SHOWN
    ? [...faults]
    : [...faults.slice(0, FAULTS_SHOWN), `And ${(count - FAULTS_SHOWN).toLocaleString('en-GB')} others`];

const MEMBER_FAULTS: Readonly<Record<MemberKind, string>> = {
  distinct_id: 'no user or visitor id',
  email: 'neither an e-mail address nor a SHA-256',
  person_id: 'no person id (p_ and 32 characters)',
  phone: 'no phone number with its country, as +32470123456',
  external_id: 'no external id',
};

function firstCell(line: string): string {
  const [, quoted, plain = ''] = /^\uFEFF?\s*(?:"((?:[^"]|"")*)"|([^,;\t]*))/.exec(line) ?? [];
  return (quoted?.replaceAll('""', '"') ?? plain).trim();
}
