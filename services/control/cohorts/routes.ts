// Cohorts of a site: their settings, and the members of those that are lists.

import type { Static } from 'typebox';
import type { CohortMember } from '#infra/clickhouse/cohort_members.ts';
import {
  type CohortCondition,
  type CohortDefinition,
  cohortsById,
  cohortsNamed,
  definitionOf,
  definitionProblems,
  depthOf,
  depthProblems,
  type FindCohort,
  outerProblems,
  type StoredCohort,
} from '#pipelines/analytics/cohorts/cohort.ts';
import { namesPersons } from '#pipelines/analytics/personal_fields.ts';
import { withPhoneHmacs } from '#pipelines/analytics/query_rewrites.ts';
import { isNobodysId } from '#pipelines/privacy/placeholder_ids.ts';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import type { SettingsView } from '#pipelines/settings/journal.ts';
import { type Problem, unless } from '#pipelines/settings/problems.ts';
import { randomBase62 } from '#pipelines/settings/secrets.ts';
import { cohortKey } from '#pipelines/settings/table.ts';
import type { CohortSetting, Site } from '#schemas/setting.ts';
import * as api from '#services/control_api/cohorts.ts';
import { savedParams } from '#services/control_api/queries.ts';
import { metaOf } from '../changes.ts';
import { definitionRoutes } from '../definition_routes.ts';
import {
  type ControlServices,
  doneWith,
  type GatheredAnswer,
  type Input,
  inSite,
  type Outcome,
  type Refused,
  type RequestContext,
  type Route,
  refused,
  refusedFor,
  resource,
  route,
} from '../route.ts';

const TAG = 'Cohorts';
const COHORTS_MAX = 200;
/** Every process reads the settings at its start. */
const DEFINITION_CHARACTERS_MAX = 16_384;

/** Of all lists of a cohort, and the one of that name. */
const listNamed = (id: string, name = ''): string => `${id}.${name}`;

/** Of the cohort and no other, be it one of the same id that is made later. */
const newList = (id: string, { randomBytes }: Pick<RequestContext, 'randomBytes'>): string =>
  listNamed(id, randomBase62(api.LIST_CHARACTERS, randomBytes));

const viewOf = (view: SettingsView, item: CohortSetting): api.CohortItem => ({
  ...(definitionOf(item) as api.CohortInput),
  revision: item.version,
  ...metaOf(view, cohortKey(item.site_id, item.id)),
});

/** By another cohort, or by an alert, which nobody would see fail. */
const isNamedByOthers = ({ table }: SettingsView, siteId: string, id: string): boolean =>
  table.cohorts(siteId).some((item) => item.id !== id && cohortsNamed(definitionOf(item).conditions).includes(id)) ||
  table.alerts(siteId).some(({ definition }) => cohortsNamed(JSON.parse(definition)).includes(id));

const settingRoutes = definitionRoutes<CohortSetting>({
  tag: TAG,
  path: 'cohorts',
  kind: 'cohort',
  called: 'cohort',
  says: { create: 'Save a cohort', created: 'The cohort', remove: 'Remove a cohort, with its list' },
  permissions: { read: 'query.aggregates', change: 'saved.change' },
  input: api.cohortInput,
  shape: api.cohortShape,
  codes: { unknown: 'cohort_unknown', exists: 'cohort_exists', kept: 'cohort_in_use' },
  max: COHORTS_MAX,
  itemsOf: (view, siteId) => [...view.table.cohorts(siteId)],
  keyOf: cohortKey,
  viewOf,
  read: (body) => ({ ok: true, definition: body as CohortDefinition }),
  write({ site_id, id, version, definition: text }, _body, before, world) {
    const definition = JSON.parse(text) as CohortDefinition;
    // Settings are kept for long: no bare hash of a phone number is among them.
    const keyed = definition.conditions?.map((one) => withKeyedPhones(one, site_id, world));
    const list = keyed === undefined ? (before?.list ?? newList(id, world)) : null;
    const cohort = { definition: { ...definition, ...(keyed && { conditions: keyed }) }, list };
    const refusal = refusedFor(problemsOf(cohort, before, site_id, world));
    if (refusal !== null) return refusal;
    if (namesPersons(keyed) && !world.may('query.persons', { site: site_id })) return refused('permission_missing');
    return { body: { cohort: { site_id, id, version, definition: JSON.stringify(cohort.definition), list } } };
  },
  isKept: isNamedByOthers,
});

function withKeyedPhones(one: CohortCondition, siteId: string, { phoneHmacs }: RequestContext): CohortCondition {
  const hmacsOf = (sha256: string): readonly string[] => phoneHmacs(siteId, sha256);
  if ('did' in one) return withPhoneHmacs(one, hmacsOf);
  const [keyed = one] = withPhoneHmacs({ filters: [one] }, hmacsOf).filters;
  return keyed;
}

function problemsOf(
  cohort: StoredCohort,
  before: CohortSetting | null,
  siteId: string,
  { view }: RequestContext,
): Problem[] {
  const { definition } = cohort;
  const text = JSON.stringify(definition);
  const isOther = before !== null && (before.list === null) !== (cohort.list === null);
  const others = cohortsById(view.table.cohorts(siteId));
  const problems = [
    ...unless(!isOther, 'field_malformed', 'conditions', 'cannot take the place of a list, nor a list theirs'),
    ...unless(text.length <= DEFINITION_CHARACTERS_MAX, 'too_large', 'cohort', 'is more than 16 KiB of JSON'),
    ...unless(!holdsPersonalText(text), 'personal_text', 'cohort', 'holds an e-mail address or a phone number'),
    ...definitionProblems(definition, others),
  ];
  if (problems.length > 0) return problems;
  const find: FindCohort = (id) => (id === definition.id ? cohort : others(id));
  const ids = [definition.id, ...view.table.cohorts(siteId).map(({ id }) => id)];
  return [...depthProblems(Math.max(...ids.map((id) => depthOf(id, find)))), ...outerProblems(cohort, ids, find)];
}

const listsOf = (view: SettingsView, siteId: string): string[] =>
  view.table.cohorts(siteId).flatMap(({ list }) => list ?? []);

/** Rows of a list that is no cohort's any more are deleted once that is written; of a cohort that is removed, those of all its lists. */
const forgetsList: Pick<Route, 'beside'> = {
  async beside({ params }, { cohortLists }, { view, nowMs }, { gone }) {
    const { site_id, id } = params as Params;
    await cohortLists.forget(site_id, gone ?? listNamed(id), listsOf(view, site_id), nowMs);
    return {};
  },
};

const withoutList = (one: Route): Route =>
  one.method === 'DELETE' ? { ...one, ...forgetsList, errors: [...one.errors, 'query_unavailable'] } : one;

type Params = Static<typeof savedParams>;

const path = '/v1/admin/sites/{site_id}/cohorts/{id}/members';
const ERRORS = ['site_unknown', 'cohort_unknown', 'cohort_no_list', 'query_unavailable'] as const;

const memberRoutes = resource(TAG, [
  route('POST', path, 'addCohortMembers', {
    access: inSite('query.persons'),
    summary: 'Add members to the list of a cohort, some at a time',
    params: savedParams,
    body: api.membersInput,
    success: { status: 200, schema: api.membersAddedShape, description: 'What was taken' },
    errors: [...ERRORS, 'limit_reached', 'settings_not_stored'],
    gather: addMembers,
  }),
  route('POST', `${path}/remove`, 'removeCohortMembers', {
    access: inSite('query.persons'),
    summary: 'Remove members from the list of a cohort',
    params: savedParams,
    body: api.removalInput,
    success: { status: 200, schema: api.membersRemovedShape, description: 'What was removed' },
    errors: [...ERRORS, 'version_conflict', 'settings_not_stored'],
    gather: removeMembers,
  }),
  route('DELETE', path, 'emptyCohort', {
    access: inSite('query.persons'),
    summary: 'Empty the list of a cohort, to fill it anew',
    params: savedParams,
    success: { status: 200, schema: api.cohortShape, description: 'The cohort' },
    errors: ERRORS,
    run: ({ params }, world) => withList(params, newList(params.id, world), world),
    ...forgetsList,
  }),
  route('PUT', path, 'replaceCohortMembers', {
    access: inSite('query.persons'),
    summary: 'Have a list that was filled beside it take the place of the list of a cohort, all at once',
    params: savedParams,
    body: api.replacementInput,
    success: { status: 200, schema: api.cohortShape, description: 'The cohort' },
    errors: ERRORS,
    run: ({ params, body }, world) => withList(params, listNamed(params.id, body.replacement), world),
    ...forgetsList,
  }),
]);

/** The cohort with another list, of which nobody sees a part. */
function withList(params: Params, list: string, world: RequestContext): Outcome {
  const known = listOf(params, world);
  if ('kind' in known) return known;
  const { item } = known;
  const cohort = { ...item, version: item.version + 1, list };
  return { ...doneWith([{ body: { cohort } }], (view) => viewOf(view, cohort)), gone: item.list };
}

export const cohortRoutes: Route[] = [...settingRoutes.map(withoutList), ...memberRoutes];

interface FoundList {
  site: Site;
  item: CohortSetting;
  list: string;
}

function listOf({ site_id, id }: Params, { view, may }: RequestContext): FoundList | Refused {
  const site = view.table.site(site_id);
  if (site === undefined) return refused('site_unknown');
  const item = view.table.cohorts(site_id).find((one) => one.id === id);
  if (item === undefined) return refused('cohort_unknown');
  if (!may('saved.change', { site: site_id })) return refused('permission_missing');
  return item.list === null ? refused('cohort_no_list') : { site, item, list: item.list };
}

/** A member as rows have it, or why it is not taken. */
function membersOf(
  typed: api.MembersInput['members'][number],
  site: Site,
  { readSubject, isErasedPerson }: RequestContext,
): CohortMember[] | api.MemberRefusal {
  const id = typed.distinct_id ?? typed.external_id;
  if (id !== undefined && isNobodysId(id)) return 'placeholder';
  const subject = Object.keys(typed).length === 1 ? readSubject(typed, site) : null;
  if (subject === null) return Object.values(typed).some(isNobodysId) ? 'placeholder' : 'unreadable';
  if (subject.persons.some((person) => isErasedPerson(site.site_id, person))) return 'erased';
  const [person] = subject.persons;
  if (typed.distinct_id === undefined && typed.person_id === undefined) {
    return subject.identifiers.map(({ kind, value }) => ({ kind, value }));
  }
  return person === undefined ? 'unreadable' : [{ kind: 'person', value: person }];
}

const taken = (read: ReturnType<typeof membersOf>): CohortMember[] => (typeof read === 'string' ? [] : read);

async function addMembers(
  { params, body }: Input<Params, unknown, api.MembersInput>,
  services: ControlServices,
  before: RequestContext,
): Promise<GatheredAnswer> {
  const known = listOf(params, before);
  if ('kind' in known) return known;
  const read = body.members.map((typed) => membersOf(typed, known.site, before));
  const refusals = read.flatMap((some, at) => (typeof some === 'string' ? [{ at, code: some }] : []));
  const members = read.flatMap(taken);
  const { count, add } = services.cohortLists;
  const { replacement } = body;
  const list =
    replacement === undefined
      ? known.list
      : replacement === 'new'
        ? newList(params.id, before)
        : listNamed(params.id, replacement);
  const { listed, together } = await count(params.site_id, list);
  const isMany = listed + members.length > api.MEMBERS_MAX || together + members.length > api.MEMBERS_TOGETHER_MAX;
  if (isMany) return refused('limit_reached');
  const world = await services.note(cohortKey(params.site_id, params.id), {
    done: 'cohort.add',
    members: members.length,
  });
  if ('kind' in world) return world;
  await add(params.site_id, list, members);
  const answer: api.MembersAdded = {
    taken: read.length - refusals.length,
    refused: refusals.length,
    refusals: refusals.slice(0, api.REFUSED_TOLD),
    listed: (await count(params.site_id, list)).listed,
    replacement: replacement === undefined ? null : list.slice(listNamed(params.id).length),
  };
  return { kind: 'answered', body: answer };
}

/** A list without them takes the place of the one that has them: rows are not deleted by statements that name people. */
async function removeMembers(
  { params, body }: Input<Params, unknown, api.RemovalInput>,
  services: ControlServices,
  before: RequestContext,
): Promise<GatheredAnswer> {
  const known = listOf(params, before);
  if ('kind' in known) return known;
  const { site, list: from } = known;
  const { site_id, id } = params;
  const gone = body.members.flatMap((typed) => taken(membersOf(typed, site, before)));
  const to = newList(id, before);
  const { copy, count, forget } = services.cohortLists;
  const { listed: had } = await count(site_id, from);
  await copy(site_id, from, to, gone);
  const world = await services.note(cohortKey(site_id, id), { done: 'cohort.remove', members: gone.length });
  if ('kind' in world) return world;
  const outcome = await services.change((now) => {
    const current = listOf(params, now);
    return 'kind' in current || current.list === from ? withList(params, to, now) : refused('version_conflict');
  });
  if (outcome.kind === 'refused') return outcome;
  // Whom others added meanwhile.
  await copy(site_id, from, to, gone);
  const { listed } = await count(site_id, to);
  const now = services.now();
  if (!('kind' in now)) await forget(site_id, from, listsOf(now.view, site_id), now.nowMs);
  const answer: api.MembersRemoved = { removed: Math.max(0, had - listed), listed };
  return { kind: 'answered', body: answer };
}
