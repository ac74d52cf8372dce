import { type Static, Type } from 'typebox';
import { readEventDefinition } from '#pipelines/settings/event_definitions.ts';
import type { Fact, SettingsView } from '#pipelines/settings/journal.ts';
import { type Problem, problem } from '#pipelines/settings/problem.ts';
import { siteKey } from '#pipelines/settings/setting_address.ts';
import { siteProblems } from '#pipelines/settings/validate_site.ts';
import { canonicalDomain } from '#pipelines/settings/web_names.ts';
import { type Site, TAG_DEFAULTS } from '#schemas/setting.ts';
import { closed, idField, nothing, pageFields, pageOf } from '#services/control_api/fields.ts';
import {
  changedSiteShape,
  newSite,
  type SiteChange,
  siteChange,
  siteParams,
  siteShape,
} from '#services/control_api/site_shapes.ts';
import { siteFacts } from './domains.ts';
import { page } from './list_page.ts';
import { done, type Outcome, type Route, refused, refusedFor, route, type Shown, type World } from './route.ts';
import { inSite, type Needs, ofListed } from './route_access.ts';
import { accessOf, endedAccess, withAnalysts } from './site_access.ts';
import { metaOf, refuseStale, shownWith } from './versions.ts';

const SITES_PER_ACCOUNT_MAX = 1_000;
const tag = 'Sites';
const base = '/v1/admin/sites';

const createsSite: Needs = {
  permission: 'site.create',
  of: ({ body }) => ({ account: (body as Static<typeof newSite>).account_id }),
};

/** Block rules are changed by more people than the rest. */
const changesSite: Needs = {
  ...inSite('site.change'),
  others: ['block_rules.change'],
  choose({ body }) {
    const changed = Object.keys(body as SiteChange);
    return changed.length > 0 && changed.every((name) => name === 'block_rules') ? 'block_rules.change' : 'site.change';
  },
};

export const siteRoutes: Route[] = [
  route({
    method: 'GET',
    path: base,
    operationId: 'listSites',
    access: ofListed('site.read'),
    tag,
    summary: 'List sites',
    params: nothing,
    query: closed({ account_id: Type.Optional(idField('Only sites of this account')), ...pageFields }),
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: pageOf(siteShape), description: 'Sites, sorted by id' },
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
      const body = page(
        sites,
        query,
        ({ site_id }) => site_id,
        (site) => ({ ...shownSite(site, mayReadRules(may, site.site_id)), ...metaOf(view, siteKey(site.site_id)) }),
      );
      return done([], () => ({ body }));
    },
  }),
  route({
    method: 'POST',
    path: base,
    operationId: 'createSite',
    access: createsSite,
    tag,
    summary: 'Create a site',
    params: nothing,
    query: nothing,
    body: newSite,
    ifMatch: 'none',
    success: { status: 201, schema: siteShape, description: 'The site' },
    errors: ['site_exists', 'claimed_elsewhere', 'limit_reached'],
    run({ body: { site_id, ...change } }, world) {
      const { view } = world;
      if (view.table.site(site_id) !== undefined) return refused('site_exists');
      if (isFull(change.account_id, view)) return refused('limit_reached');
      return changedSite(blankSite(site_id), change, world, null);
    },
  }),
  route({
    method: 'GET',
    path: `${base}/{site_id}`,
    operationId: 'getSite',
    access: inSite('site.read'),
    tag,
    summary: 'Read a site',
    params: siteParams,
    query: nothing,
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: siteShape, description: 'The site' },
    errors: ['site_unknown'],
    run({ params: { site_id } }, { view, may }) {
      if (view.table.site(site_id) === undefined) return refused('site_unknown');
      return done([], showSite(site_id, mayReadRules(may, site_id)));
    },
  }),
  route({
    method: 'PATCH',
    path: `${base}/{site_id}`,
    operationId: 'changeSite',
    access: changesSite,
    tag,
    summary: 'Change the fields of a site that are given: mode, category, domains, block rules and the rest',
    params: siteParams,
    query: nothing,
    body: siteChange,
    // Whoever may read the account that it moves to reads its events from then on.
    needsProof: ({ body }) => (body as SiteChange).account_id !== undefined,
    ifMatch: 'required',
    success: { status: 200, schema: changedSiteShape, description: 'The site as it is now' },
    errors: ['site_unknown', 'claimed_elsewhere', 'limit_reached'],
    run({ params: { site_id }, body: { end_access = [], ...body }, ifMatch }, world) {
      const { view } = world;
      const before = view.table.site(site_id);
      if (before === undefined) return refused('site_unknown');
      return (
        refuseStale(view, siteKey(site_id), ifMatch, 'required') ??
        refuseMove(before, body, world) ??
        withFacts(changedSite(before, body, world, before), endedAccess(site_id, end_access, world))
      );
    },
    async beside({ params, body }, sources, world) {
      const { account_id, end_access } = body as SiteChange;
      if (account_id === undefined && end_access === undefined) return {};
      const { site_id } = params as Static<typeof siteParams>;
      const access = accessOf(site_id, world.view, world.nowMs);
      return { still_works: await withAnalysts(site_id, end_access ?? [], access, sources, world) };
    },
  }),
];

const withFacts = (outcome: Outcome, facts: readonly Fact[]): Outcome =>
  outcome.kind === 'done' ? { ...outcome, facts: [...outcome.facts, ...facts] } : outcome;

/**
 * Who administers a site alone does not decide whose it is: the account that it leaves would lose it, and the other one pay
 * for it. Null: it stays, or may move.
 */
function refuseMove(before: Site, { account_id: to }: SiteChange, { view, may }: World): Outcome | null {
  if (to === undefined || to === before.account_id) return null;
  const isTheirs = may('site.change', { account: before.account_id }) && may('site.create', { account: to });
  if (!isTheirs) return refused('permission_missing');
  return isFull(to, view) ? refused('limit_reached') : null;
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
  };
}

/**
 * Domains are brought into their canonical form; what has none is left for the check to refuse. `stored` is null for a new
 * site.
 */
function changedSite(before: Site, change: SiteChange, { view, domainRules }: World, stored: Site | null): Outcome {
  const { event_definitions: given, domains, block_rules, tag: tagChange, ...rest } = change;
  const definitions = given === undefined ? { texts: before.event_definitions, problems: [] } : definitionTexts(given);
  if (definitions.problems.length > 0) return refused('settings_invalid', definitions.problems);
  const site: Site = {
    ...before,
    ...rest,
    domains: domains?.map((domain) => canonicalDomain(domain) ?? domain) ?? before.domains,
    tag: { ...before.tag, ...tagChange },
    block_rules: block_rules?.map((rule) => ({ property: null, ...rule })) ?? before.block_rules,
    event_definitions: definitions.texts,
  };
  return (
    refusedFor(siteProblems(site, view.table, stored, domainRules.cnameTarget)) ??
    done(siteFacts(site, view.table), showSite(site.site_id))
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

/** A site as it is answered. */
export const showSite =
  (siteId: string, withVisitors = true) =>
  (view: SettingsView): Shown => {
    const site = view.table.site(siteId);
    return shownWith(view, siteKey(siteId), site === undefined ? {} : shownSite(site, withVisitors));
  };

const mayReadRules = (may: World['may'], site: string): boolean => may('block_rules.change', { site });

/** In the place of an address or an id, of a visitor's block rule. */
const HIDDEN = '(hidden)';

/** @param withVisitors Whether block rules say whom they block. */
function shownSite(site: Site, withVisitors: boolean): object {
  const block_rules = site.block_rules.map((rule) =>
    !withVisitors && (rule.kind === 'ip' || rule.kind === 'distinct_id') ? { ...rule, value: HIDDEN } : rule,
  );
  return { ...site, block_rules, event_definitions: site.event_definitions.map((text): unknown => JSON.parse(text)) };
}
