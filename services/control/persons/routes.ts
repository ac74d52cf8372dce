// What is known of a person: where it is, what it is, and its erasure.

import type { Static } from 'typebox';
import { DEAD_LETTER_DAYS, EVENT_RECORD_DAYS, TOPICS } from '#infra/kafka/topics.ts';
import { RECEIPT_DAYS, SUPPRESSED_DAYS } from '#pipelines/erasure/erasure.ts';
import { toDoAt } from '#pipelines/erasure/notices.ts';
import type { PersonSubject, TypedSubject } from '#pipelines/erasure/subject.ts';
import { problem } from '#pipelines/settings/problems.ts';
import { randomBase62 } from '#pipelines/settings/secrets.ts';
import { siteKey } from '#pipelines/settings/table.ts';
import type { Erasure } from '#schemas/records.ts';
import { closed, pageFields, pageOf } from '#services/control_api/fields.ts';
import * as api from '#services/control_api/persons.ts';
import {
  type ControlServices,
  type GatheredAnswer,
  type Input,
  inSite,
  ofListed,
  type Refused,
  type RequestContext,
  refused,
  resource,
  route,
} from '../route.ts';
import { analystsOfSite } from '../users/analysts.ts';

const base = '/v1/admin/sites/{site_id}/persons';
const erasures = '/v1/admin/sites/{site_id}/erasures';
const ERRORS = ['site_unknown', 'person_data_unavailable'] as const;
const ID_CHARACTERS = 12;
const DAY_MS = 86_400_000;

type In<Body> = Input<Static<typeof api.personsParams>, unknown, Body>;

export const personRoutes = resource('Persons', [
  route('POST', `${base}/find`, 'findPerson', {
    access: inSite('query.persons'),
    summary: 'Say where data of a person is, and how much, across merged persons; not the data itself',
    params: api.personsParams,
    body: api.personInput,
    success: { status: 200, schema: api.foundShape, description: 'Where data of the person is' },
    errors: ERRORS,
    gather: findPerson,
  }),
  route('POST', `${base}/export`, 'exportPerson', {
    access: inSite('query.persons'),
    summary: 'Read all events of a person and how their ids were joined, page by page',
    params: api.personsParams,
    body: api.exportInput,
    success: { status: 200, schema: api.exportShape, description: 'A page of events' },
    errors: ERRORS,
    gather: exportPerson,
  }),
  route('POST', `${base}/erase`, 'erasePerson', {
    access: inSite('persons.erase'),
    requiresReauthentication: () => true,
    summary: 'Erase a person for good: events of theirs are dropped from now on, and what is stored is deleted',
    params: api.personsParams,
    body: api.eraseInput,
    success: { status: 201, schema: api.erasureShape, description: 'The erasure, which goes on by itself' },
    errors: [...ERRORS, 'limit_reached', 'settings_not_stored'],
    gather: erasePerson,
  }),
  route('GET', erasures, 'listErasures', {
    access: inSite('persons.erase'),
    summary: 'List erasures, by their ids',
    params: api.personsParams,
    query: closed(pageFields),
    success: { status: 200, schema: pageOf(api.erasureShape), description: 'Erasures and receipts' },
    errors: ['site_unknown'],
    async gather({ params: { site_id }, query: { limit = 100, after = '' } }, { erasures: known }, { view }) {
      if (view.table.site(site_id) === undefined) return refused('site_unknown');
      return pageOfErasures(known, (one) => one.site_id === site_id && !one.site, after, limit);
    },
  }),
  route('GET', `${erasures}/{erasure_id}`, 'getErasure', {
    access: inSite('persons.erase'),
    summary: 'Read how far an erasure is, or its receipt',
    params: api.erasureParams,
    success: { status: 200, schema: api.erasureShape, description: 'The erasure' },
    errors: ['erasure_unknown'],
    async gather({ params: { site_id, erasure_id } }, { erasures: known, eraseRequests }) {
      // What was just asked for may not have come here yet.
      const found = known.get(erasure_id) ?? (await eraseRequests.read(erasure_id));
      if (found?.site_id !== site_id || found.site) return refused('erasure_unknown');
      return { kind: 'answered', body: itemOf(found) };
    },
  }),
]);

const ofSites = '/v1/admin/site-erasures';

/** Whole sites: their erasures are those of the account, as the sites are there no more. */
export const siteErasureRoutes = resource('Sites', [
  route('POST', '/v1/admin/sites/{site_id}/erase', 'eraseSite', {
    access: inSite('site.erase'),
    requiresReauthentication: () => true,
    summary: 'Erase a site for good: its keys end, its events are dropped, and all that is stored of it is deleted',
    params: api.personsParams,
    body: api.siteEraseInput,
    success: { status: 201, schema: api.erasureShape, description: 'The erasure, which goes on by itself' },
    errors: ['site_unknown', 'limit_reached', 'settings_not_stored'],
    gather: eraseSite,
  }),
  route('GET', ofSites, 'listSiteErasures', {
    access: ofListed('site.erase'),
    summary: 'List erasures of whole sites, by their ids',
    query: closed(pageFields),
    success: { status: 200, schema: pageOf(api.erasureShape), description: 'Erasures and receipts' },
    async gather({ query: { limit = 100, after = '' } }, { erasures: known }, { may }) {
      return pageOfErasures(known, (one) => mayReadReceipt(one, may), after, limit);
    },
  }),
  route('GET', `${ofSites}/{erasure_id}`, 'getSiteErasure', {
    access: ofListed('site.erase'),
    summary: 'Read how far the erasure of a site is, or its receipt',
    params: api.siteErasureParams,
    success: { status: 200, schema: api.erasureShape, description: 'The erasure' },
    errors: ['erasure_unknown'],
    async gather({ params: { erasure_id } }, { erasures: known, eraseRequests }, { may }) {
      const found = known.get(erasure_id) ?? (await eraseRequests.read(erasure_id));
      if (found === undefined || !mayReadReceipt(found, may)) return refused('erasure_unknown');
      return { kind: 'answered', body: itemOf(found) };
    },
  }),
]);

const mayReadReceipt = ({ site }: Erasure, may: RequestContext['may']): boolean =>
  site ? may('site.erase', { account: site.account_id }) : false;

function pageOfErasures(
  known: ReadonlyMap<string, Erasure>,
  isListed: (one: Erasure) => boolean,
  after: string,
  limit: number,
): GatheredAnswer {
  const all = [...known.values()].filter((one) => one.erasure_id > after && isListed(one));
  const items = all.toSorted((a, b) => (a.erasure_id < b.erasure_id ? -1 : 1)).slice(0, limit);
  const next = items.length < all.length ? (items.at(-1)?.erasure_id ?? null) : null;
  return { kind: 'answered', body: { items: items.map(itemOf), next } };
}

async function eraseSite(
  { params: { site_id }, body: { confirm } }: Input<Static<typeof api.personsParams>, unknown, { confirm: string }>,
  services: ControlServices,
  before: RequestContext,
): Promise<GatheredAnswer> {
  const account = before.view.table.site(site_id)?.account_id;
  if (account === undefined) return refused('site_unknown');
  // Who administers a site alone does not decide that its account loses it.
  if (!before.may('site.erase', { account })) return refused('permission_missing');
  if (confirm !== site_id) {
    return refused('settings_invalid', [problem('not_confirmed', 'confirm', 'is not the id of the site')]);
  }
  const erasureId = newErasureId(before);
  const world = await services.note(siteKey(site_id), { done: 'site.erase', erasure_id: erasureId });
  if ('kind' in world) return world;
  const erasure = await services.eraseRequests.requestSite({
    ...{ erasureId, siteId: site_id, accountId: account, askedBy: world.principal.actor },
    destinations: destinationsOf(world, site_id),
  });
  if (erasure === null) return refused('limit_reached');
  await analystsOfSite(site_id, true, services.analysts, world, services.note);
  await services.removeSite(erasure);
  return { kind: 'answered', body: itemOf(erasure) };
}

const newErasureId = ({ nowMs, randomBytes }: RequestContext): string =>
  `e${nowMs.toString(36)}-${randomBase62(ID_CHARACTERS, randomBytes).toLowerCase()}`;

/** All that is known to be of whom is meant, or why nobody is. What was typed in goes no further than this. */
async function subjectOf(
  siteId: string,
  body: TypedSubject,
  { persons }: Pick<ControlServices, 'persons'>,
  { view, readSubject }: RequestContext,
): Promise<PersonSubject | Refused> {
  const site = view.table.site(siteId);
  if (site === undefined) return refused('site_unknown');
  const [name, ...others] = api.SUBJECT_NAMES.filter((each) => body[each] !== undefined);
  if (name === undefined || others.length > 0) {
    const message = `give exactly one of ${api.SUBJECT_NAMES.join(', ')}`;
    return refused('settings_invalid', [problem('field_malformed', others[0] ?? 'distinct_id', message)]);
  }
  const typed = readSubject({ [name]: body[name] }, site);
  if (typed === null) {
    return refused('settings_invalid', [problem('field_malformed', name, 'is none that events could have')]);
  }
  return persons.resolve(siteId, typed);
}

async function findPerson(
  { params: { site_id }, body }: In<Static<typeof api.personInput>>,
  services: ControlServices,
  world: RequestContext,
): Promise<GatheredAnswer> {
  const subject = await subjectOf(site_id, body, services, world);
  if ('kind' in subject) return subject;
  const { tables, distinctIds } = await services.persons.countRows(site_id, subject);
  const links = await linksOf(site_id, subject, services);
  const found: api.PersonFound = {
    distinct_ids: distinctIds.length,
    persons: subject.persons.length,
    identifiers: subject.identifiers.length,
    tables,
    links: links.length,
    topics: Object.entries(HOLDING).map(([topic, days]) => ({ topic, days })),
    destinations: destinationsOf(world, site_id).map((name) => ({ name, to_do: toDoAt(name) })),
  };
  return { kind: 'answered', body: found };
}

async function exportPerson(
  { params: { site_id }, body }: In<Static<typeof api.exportInput>>,
  services: ControlServices,
  world: RequestContext,
): Promise<GatheredAnswer> {
  const { after = null, limit = api.EXPORT_EVENTS, ...typed } = body;
  const subject = await subjectOf(site_id, typed, services, world);
  if ('kind' in subject) return subject;
  const { events, next } = await services.persons.events(site_id, subject, after, limit);
  const links = after === null ? await linksOf(site_id, subject, services) : [];
  const now = services.now();
  if ('kind' in now) return now;
  services.wasRead(site_id, 'person', events.length);
  const page: api.PersonExport = { events, links, next };
  return { kind: 'answered', body: page };
}

async function erasePerson(
  { params: { site_id }, body }: In<Static<typeof api.eraseInput>>,
  services: ControlServices,
  before: RequestContext,
): Promise<GatheredAnswer> {
  const { distinct_ids_max: most = api.DISTINCT_IDS_MAX, ...typed } = body;
  const subject = await subjectOf(site_id, typed, services, before);
  if ('kind' in subject) return subject;
  const { distinctIds } = await services.persons.countRows(site_id, subject);
  if (distinctIds.length > most) {
    const message = `the person has ${distinctIds.length} distinct ids, and may be several people: split them, or allow as many`;
    return refused('settings_invalid', [problem('too_many', 'distinct_ids_max', message)]);
  }
  const erasureId = newErasureId(before);
  const world = await services.note(siteKey(site_id), { done: 'person.erase', erasure_id: erasureId });
  if ('kind' in world) return world;
  const erasure = await services.eraseRequests.request({
    ...{ erasureId, siteId: site_id, subject, askedBy: world.principal.actor },
    destinations: destinationsOf(world, site_id),
  });
  return erasure === null ? refused('limit_reached') : { kind: 'answered', body: itemOf(erasure) };
}

async function linksOf(siteId: string, subject: PersonSubject, { persons }: Pick<ControlServices, 'persons'>) {
  const found = await persons.links(new Map([[siteId, new Set(subject.persons)]]));
  return found.map(({ link: { kind, person_id, target, first_seen } }) => ({ kind, person_id, target, first_seen }));
}

function destinationsOf({ view, adapters }: RequestContext, siteId: string): string[] {
  return adapters.flatMap(({ name }) =>
    (view.table.destinationsOfKind(name).get(siteId) ?? []).map((destination) => destination.name),
  );
}

/** Topics that may hold events of a person, and for how many days a record may stand there. */
const HOLDING: Readonly<Record<string, number>> = {
  [TOPICS.raw]: EVENT_RECORD_DAYS,
  [TOPICS.unique]: EVENT_RECORD_DAYS,
  [TOPICS.identified]: EVENT_RECORD_DAYS,
  [TOPICS.outcomes]: EVENT_RECORD_DAYS,
  [TOPICS.duplicates]: EVENT_RECORD_DAYS,
  [TOPICS.links]: EVENT_RECORD_DAYS,
  'delivery.*': EVENT_RECORD_DAYS,
  'again.*': EVENT_RECORD_DAYS,
  'dead.*': DEAD_LETTER_DAYS,
};

const HOLDING_OF_SITES = { [TOPICS.inventory]: EVENT_RECORD_DAYS, [TOPICS.audit]: RECEIPT_DAYS };

function itemOf(erasure: Erasure): api.ErasureItem {
  const { erasure_id, site_id, phase, detail, asked_by, asked_at, done_at, erased } = erasure;
  const inDays = (days: number): number | null => (done_at === null ? null : done_at + days * DAY_MS);
  return {
    ...{ erasure_id, site_id, phase, detail, asked_by, asked_at, done_at },
    suppressed_until: inDays(SUPPRESSED_DAYS),
    erased: erased.map(({ place, count }) => ({ place, count })),
    left: Object.entries({ ...HOLDING, ...(erasure.site ? HOLDING_OF_SITES : {}) }).map(([place, days]) => ({
      place,
      until: inDays(days),
    })),
    destinations: erasure.destinations.map((name) => {
      const notice = erasure.notices?.find((one) => one.destination === name);
      return { name, to_do: toDoAt(name), state: notice?.state ?? 'by_hand', reason: notice?.reason ?? '' };
    }),
  };
}
