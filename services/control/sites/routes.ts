// Sites: their settings, who has access, the prefix of their loaders, and persons who are taken apart.

import { type Static, Type } from 'typebox';
import type { AnalystUser } from '#infra/clickhouse/analysts/analyst_users.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { canGrant } from '#pipelines/settings/access.ts';
import { lifetimeRefusal } from '#pipelines/settings/callers.ts';
import { canonicalAllowedOrigin, canonicalDomain } from '#pipelines/settings/domains.ts';
import { readEventDefinition } from '#pipelines/settings/event_definitions.ts';
import type { Fact, SettingsView } from '#pipelines/settings/journal.ts';
import { type Problem, problem } from '#pipelines/settings/problems.ts';
import { randomBase62 } from '#pipelines/settings/secrets.ts';
import { endedShares } from '#pipelines/settings/share_links.ts';
import { siteKey } from '#pipelines/settings/table.ts';
import { siteProblems } from '#pipelines/settings/validate.ts';
import {
  type AdminToken,
  type ApiKey,
  type Grant,
  PAGE_DEFAULTS,
  type Site,
  TAG_DEFAULTS,
  type User,
} from '#schemas/setting.ts';
import { closed, idField, pageFields, pageOf } from '#services/control_api/fields.ts';
import * as api from '#services/control_api/sites.ts';
import { checkIfMatch, metaOf } from '../changes.ts';
import {
  type ControlServices,
  doneWith,
  type GatheredAnswer,
  type Input,
  inSite,
  listed,
  type Needs,
  type Outcome,
  ofListed,
  type Refused,
  type RequestContext,
  refused,
  refusedFor,
  resource,
  route,
} from '../route.ts';
import { analystsOfSite } from '../users/analysts.ts';
import { isActive } from '../users/tokens.ts';
import { siteFacts } from './domains.ts';
import { changedPages } from './pages.ts';

const SITES_PER_ACCOUNT_MAX = 1_000;
const base = '/v1/admin/sites';

const createsSite: Needs = {
  permission: 'site.create',
  of: ({ body }) => ({ account: (body as Static<typeof api.newSite>).account_id }),
};

/** Block rules are changed by more people than the rest. */
const changesSite: Needs = {
  ...inSite('site.change'),
  others: ['block_rules.change'],
  choose({ body }) {
    const changed = Object.keys(body as api.SiteChange);
    return changed.length > 0 && changed.every((name) => name === 'block_rules') ? 'block_rules.change' : 'site.change';
  },
};

export const siteRoutes = resource('Sites', [
  route('GET', base, 'listSites', {
    access: ofListed('site.read'),
    summary: 'List sites',
    query: closed({ account_id: Type.Optional(idField('Only sites of this account')), ...pageFields }),
    success: { status: 200, schema: pageOf(api.siteShape), description: 'Sites, sorted by id' },
    errors: ['account_unknown'],
    run({ query }, { view, may }) {
      const { account_id } = query;
      const isUnknown = account_id !== undefined && view.table.account(account_id) === undefined;
      // Others are not told which accounts there are.
      if (isUnknown && may('account.read', 'installation')) return refused('account_unknown');
      const sites = view.table
        .sites()
        .filter((site) => account_id === undefined || site.account_id === account_id)
        .filter(({ site_id }) => may('site.read', { site: site_id }));
      return listed(sites, query, 'site_id', (site) => siteItem(view, site, mayReadRules(may, site.site_id)));
    },
  }),
  route('POST', base, 'createSite', {
    access: createsSite,
    summary: 'Create a site',
    body: api.newSite,
    success: { status: 201, schema: api.siteShape, description: 'The site' },
    errors: ['site_exists', 'site_erased', 'claimed_elsewhere', 'limit_reached'],
    run({ body: { site_id, ...change } }, world) {
      const { view } = world;
      if (view.table.site(site_id) !== undefined) return refused('site_exists');
      if (world.isErasedSite(site_id)) return refused('site_erased');
      if (isFull(change.account_id, view)) return refused('limit_reached');
      return changedSite(blankSite(site_id), change, world, null);
    },
  }),
  route('GET', `${base}/{site_id}`, 'getSite', {
    access: inSite('site.read'),
    summary: 'Read a site',
    params: api.siteParams,
    success: { status: 200, schema: api.siteShape, description: 'The site' },
    errors: ['site_unknown'],
    run({ params: { site_id } }, { view, may }) {
      if (view.table.site(site_id) === undefined) return refused('site_unknown');
      return showSite([], site_id, mayReadRules(may, site_id));
    },
  }),
  route('PATCH', `${base}/{site_id}`, 'changeSite', {
    access: changesSite,
    summary: 'Change the fields of a site that are given: mode, category, domains, block rules and the rest',
    params: api.siteParams,
    body: api.siteChange,
    // Whoever may read the account that it moves to reads its events from then on.
    requiresReauthentication: ({ body }) => body.account_id !== undefined,
    ifMatch: 'required',
    success: { status: 200, schema: api.changedSiteShape, description: 'The site as it is now' },
    errors: ['site_unknown', 'claimed_elsewhere', 'limit_reached'],
    run({ params: { site_id }, body: { end_access = [], ...body }, ifMatch }, world) {
      const { view } = world;
      const before = view.table.site(site_id);
      if (before === undefined) return refused('site_unknown');
      return (
        checkIfMatch(view, siteKey(site_id), ifMatch, 'required') ??
        refuseMove(before, body, world) ??
        withFacts(changedSite(before, body, world, before), [
          ...endedAccess(site_id, end_access, world),
          ...endedByMove(before, body, world),
        ])
      );
    },
    async beside({ params: { site_id }, body: { account_id, end_access } }, sources, world) {
      if (account_id === undefined && end_access === undefined) return {};
      const access = accessOf(site_id, world.view, world.nowMs);
      return { still_works: await withAnalysts(site_id, end_access ?? [], access, sources, world) };
    },
  }),
]);

const withFacts = (outcome: Outcome, facts: readonly Fact[]): Outcome =>
  outcome.kind === 'done' ? { ...outcome, facts: [...outcome.facts, ...facts] } : outcome;

/**
 * Who administers a site alone does not decide whose it is: the account that it leaves would lose it, and the other one pay
 * for it. Null: it stays, or may move.
 */
function refuseMove(before: Site, { account_id: to }: api.SiteChange, { view, may }: RequestContext): Outcome | null {
  if (to === undefined || to === before.account_id) return null;
  const isTheirs = may('site.change', { account: before.account_id }) && may('site.create', { account: to });
  if (!isTheirs) return refused('permission_missing');
  return isFull(to, view) ? refused('limit_reached') : null;
}

/** Whoever has a link of the account that the site leaves is nobody that the other one knows. */
function endedByMove(before: Site, { account_id: to }: api.SiteChange, { view, nowMs }: RequestContext): Fact[] {
  return to === undefined || to === before.account_id ? [] : endedShares(view.table, before.site_id, null, nowMs);
}

const isFull = (accountId: string, { table }: SettingsView): boolean =>
  table.sites().filter(({ account_id }) => account_id === accountId).length >= SITES_PER_ACCOUNT_MAX;

function blankSite(siteId: string): Site {
  return {
    site_id: siteId,
    account_id: '',
    name: siteId,
    mode: 'online',
    business_category: 'other',
    default_country: null,
    identify_events: null,
    server_only_events: [],
    clarity_project_id: null,
    gtm_container_id: null,
    domains: [],
    loader_prefix: null,
    tag: TAG_DEFAULTS,
    block_rules: [],
    event_definitions: [],
    consent_defaults: [],
    event_days: null,
    outcome_days: null,
    time_zone: null,
    week_start: null,
    person_days: null,
    visitor_places: null,
    visitor_addresses: null,
    pages: PAGE_DEFAULTS,
    currency: null,
    embed_origins: [],
  };
}

/**
 * Domains are brought into their canonical form; what has none is left for the check to refuse. `stored` is null for a new
 * site.
 */
function changedSite(
  before: Site,
  change: api.SiteChange,
  { view, domainRules }: RequestContext,
  stored: Site | null,
): Outcome {
  const { event_definitions: given, domains, block_rules, tag: tagChange, pages, embed_origins, ...rest } = change;
  const definitions = given === undefined ? { texts: before.event_definitions, problems: [] } : definitionTexts(given);
  if (definitions.problems.length > 0) return refused('settings_invalid', definitions.problems);
  const site: Site = {
    ...before,
    ...rest,
    domains: domains?.map((domain) => canonicalDomain(domain) ?? domain) ?? before.domains,
    embed_origins:
      embed_origins?.map((origin) => canonicalAllowedOrigin(origin) ?? origin) ?? before.embed_origins ?? [],
    tag: { ...before.tag, ...tagChange },
    pages: changedPages(before, pages),
    block_rules: block_rules?.map((rule) => ({ property: null, ...rule })) ?? before.block_rules,
    event_definitions: definitions.texts,
  };
  return (
    refusedFor(siteProblems(site, view.table, stored, domainRules.cnameTarget)) ??
    showSite(siteFacts(site, view.table), site.site_id)
  );
}

function definitionTexts(definitions: readonly unknown[]): { texts: string[]; problems: Problem[] } {
  const read = definitions.map(readEventDefinition);
  return {
    texts: read.flatMap((result) => (result.ok ? [JSON.stringify(result.definition)] : [])),
    problems: read.flatMap((result, index) =>
      result.ok ? [] : [problem('event_definition_malformed', `event_definitions[${index}]`, result.message)],
    ),
  };
}

/** In the place of an address or an id, of a visitor's block rule. */
const HIDDEN = '(hidden)';

/** A site as it is answered, once the facts are written. */
const showSite = (facts: Fact[], siteId: string, withVisitors = true): Outcome =>
  doneWith(facts, (view) => siteItem(view, view.table.site(siteId) as Site, withVisitors));

const mayReadRules = (may: RequestContext['may'], site: string): boolean => may('block_rules.change', { site });

/** @param withVisitors Whether block rules say whom they block. */
function siteItem(view: SettingsView, site: Site, withVisitors: boolean) {
  const block_rules = site.block_rules.map((rule) =>
    !withVisitors && (rule.kind === 'ip' || rule.kind === 'distinct_id') ? { ...rule, value: HIDDEN } : rule,
  );
  const event_definitions = site.event_definitions.map((text): unknown => JSON.parse(text));
  const filled = { pages: changedPages(site), embed_origins: site.embed_origins ?? [] };
  return { ...site, ...filled, block_rules, event_definitions, ...metaOf(view, siteKey(site.site_id)) };
}

/**
 * What is given in a site itself. What is given in its account goes and comes with the account; this stays whoever the site is
 * moved to.
 */
interface Given {
  users: User[];
  tokens: AdminToken[];
  keys: ApiKey[];
}

const isOf =
  (siteId: string) =>
  ({ site_id }: Grant): boolean =>
    site_id === siteId;

function givenIn(siteId: string, { table }: SettingsView, nowMs: number): Given {
  return {
    users: table.users().filter(({ grants, disabled_at }) => disabled_at === null && grants.some(isOf(siteId))),
    tokens: table.adminTokens().filter((token) => isActive(token, nowMs) && token.grants?.some(isOf(siteId)) === true),
    keys: [...table.keysOfSite(siteId).values()].filter((key) => lifetimeRefusal(key, nowMs) === null),
  };
}

/** Facts that end what is given in a site, as far as who asks may take it back: a token ends with all that it may elsewhere. */
function endedAccess(siteId: string, kinds: readonly api.SiteAccessKind[], world: RequestContext): Fact[] {
  const { view, nowMs, principal, may } = world;
  const { users, tokens, keys } = givenIn(siteId, view, nowMs);
  const isTakenBack = (grants: readonly Grant[], permission: 'users.manage' | 'tokens.manage'): boolean =>
    grants.every((grant) => canGrant(principal, grant, permission, view.table));
  const facts: Fact[] = [];
  if (kinds.includes('grants')) {
    for (const user of users) {
      const grants = user.grants.filter((grant) => !isOf(siteId)(grant) || !isTakenBack([grant], 'users.manage'));
      facts.push({ body: { user: { ...user, grants } } });
    }
  }
  if (kinds.includes('tokens')) {
    const theirs = tokens.filter(({ grants }) => isTakenBack(grants ?? [], 'tokens.manage'));
    facts.push(...theirs.map((token) => ({ body: { admin_token: { ...token, revoked_at: nowMs } } })));
  }
  if (kinds.includes('keys') && may('keys.change', { site: siteId })) {
    facts.push(...keys.map((key) => ({ body: { key: { ...key, revoked_at: nowMs } } })));
  }
  return facts;
}

/** What of it still works. */
function accessOf(siteId: string, view: SettingsView, nowMs: number): api.SiteAccess {
  const { users, tokens, keys } = givenIn(siteId, view, nowMs);
  return {
    grants: users.flatMap(({ user_id, grants }) =>
      grants
        .filter(isOf(siteId))
        .map(({ role }) => ({ user_id, role: role as api.SiteAccess['grants'][number]['role'] })),
    ),
    tokens: tokens.map(({ token_hash, label }) => ({ token_hash, label })),
    keys: keys.map(({ key_hash, shown_prefix, label }) => ({ key_hash, shown_prefix, label })),
  };
}

/** The same with the users of ClickHouse that read the site, which are ended before where that is asked for. */
async function withAnalysts(
  siteId: string,
  kinds: readonly api.SiteAccessKind[],
  access: api.SiteAccess,
  { analysts, note }: Pick<ControlServices, 'analysts' | 'note'>,
  world: RequestContext,
): Promise<api.StillWorks> {
  const left = await analystsOfSite(siteId, kinds.includes('analysts'), analysts, world, note);
  const idsOf = (some: readonly AnalystUser[]) => some.map(({ analystId }) => ({ analyst_id: analystId }));
  return { ...access, analysts: left === null ? null : idsOf(left) };
}

const PREFIX_CHARACTERS = 12;
const prefixPath = '/v1/admin/sites/{site_id}/loader-prefix';
const prefixRoute = {
  params: api.siteParams,
  success: { status: 200, schema: api.siteShape, description: 'The site as it is now' },
  errors: ['site_unknown'],
} as const;

export const loaderPrefixRoutes = resource('Sites', [
  route('PUT', prefixPath, 'chooseLoaderPrefix', {
    ...prefixRoute,
    access: inSite('site.change'),
    summary: "Choose another random folder under which the site's domains have vendors' scripts and collectors as well",
    run({ params: { site_id } }, world) {
      return withPrefix(world, site_id, randomBase62(PREFIX_CHARACTERS, world.randomBytes).toLowerCase());
    },
  }),
  route('DELETE', prefixPath, 'removeLoaderPrefix', {
    ...prefixRoute,
    access: inSite('site.change'),
    summary: 'Remove the proxy path prefix; scripts and collectors stay at their own paths',
    run({ params: { site_id } }, world) {
      return withPrefix(world, site_id, null);
    },
  }),
]);

function withPrefix({ view }: RequestContext, siteId: string, loader_prefix: string | null): Outcome {
  const site = view.table.site(siteId);
  return site === undefined
    ? refused('site_unknown')
    : showSite([{ body: { site: { ...site, loader_prefix } } }], siteId);
}

const notOfPerson = (): Refused =>
  refused('settings_invalid', [problem('not_there', 'distinct_ids', 'one of them is none of the person')]);

/** Takes people apart whom a merge was wrong for. */
export const splitRoutes = resource('Persons', [
  route('POST', '/v1/admin/sites/{site_id}/persons/{person_id}/split', 'splitPerson', {
    access: inSite('site.change'),
    requiresReauthentication: () => true,
    summary: 'Unmerge a person: move distinct ids and their rows to a new person, permanently',
    params: api.splitParams,
    body: api.splitInput,
    success: { status: 200, schema: api.splitShape, description: 'What was done, or would be' },
    errors: ['site_unknown', 'person_changed', 'splits_unavailable', 'settings_not_stored'],
    gather: splitPerson,
  }),
]);

async function splitPerson(
  { params, body: wanted }: Input<Static<typeof api.splitParams>, unknown, api.SplitInput>,
  { splits, note }: ControlServices,
  before: RequestContext,
): Promise<GatheredAnswer> {
  const { site_id: siteId, person_id: named } = params;
  const { distinct_ids, identifiers = [], dry_run: isDry = false } = wanted;
  if (before.view.table.site(siteId) === undefined) return refused('site_unknown');
  const moved = new Set(distinct_ids.map((id) => basePersonId(siteId, id)));
  const group = await splits.groupsOf(siteId, [named, ...moved]);
  // Their links would be written again.
  if (group.some(({ person }) => before.isErasedPerson(siteId, person))) return refused('person_changed');
  const leaders = new Map(group.map(({ person, leader }) => [person, leader]));
  const leader = leaders.get(named);
  const [other, ...others] = new Set([...moved].map((person) => leaders.get(person)));
  if (leader === undefined || other === undefined || others.length > 0) return notOfPerson();
  // Who was taken out already is asked for once more where the answer did not come.
  const isApart = other !== leader;
  if (isApart && group.some((one) => one.leader === other && !moved.has(one.person))) return notOfPerson();
  if (moved.has(leader)) {
    const words = 'the oldest of the person is among them: it stays, so name the others';
    return refused('settings_invalid', [problem('not_there', 'distinct_ids', words)]);
  }
  // Devices on which one of the ids logs in later are those of who it is then.
  const taken = new Set([
    ...identifiers.map(({ identifier, sha256 }) => before.keyedIdentifier(siteId, identifier, sha256)),
    ...distinct_ids.map((id) => before.visitorNode(siteId, id)),
  ]);
  const planned = await splits.plan(siteId, group, moved, taken);
  if (isApart && planned.plan.holders.length === 0) return notOfPerson();
  const body: api.SplitAnswer = {
    ...{ person_id: planned.rows.former_person_id, new_person_id: planned.rows.person_id },
    ...{ moved: planned.rows.moved.length, stayed: planned.rows.stayed.length },
    ...{ shared_identifiers: planned.plan.holders.length, rows: planned.rowCount, is_done: !isDry },
  };
  if (isDry) return { kind: 'answered', body };
  const { moved: movedIds, stayed, rows } = body;
  // Not whom: the audit outlives an erasure of theirs.
  const world = await note(siteKey(siteId), { done: 'person.split', moved: movedIds, stayed, rows });
  if ('kind' in world) return world;
  return (await splits.split(planned)) ? { kind: 'answered', body } : refused('person_changed');
}
