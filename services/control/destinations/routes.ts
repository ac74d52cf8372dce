// Destinations and their settings; secrets go in and never come out.

import { Type } from 'typebox';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { calledNames, sentSecretNames } from '#pipelines/delivery/setting_fields.ts';
import { destinationSettingProblems } from '#pipelines/settings/destination_settings.ts';
import type { Fact, SettingsView } from '#pipelines/settings/journal.ts';
import { type Problem, problem } from '#pipelines/settings/problems.ts';
import { destinationKey } from '#pipelines/settings/table.ts';
import { destinationProblems } from '#pipelines/settings/validate.ts';
import type { Destination, DestinationRule } from '#schemas/setting.ts';
import * as api from '#services/control_api/destinations.ts';
import { nothing, pageOf } from '#services/control_api/fields.ts';
import { siteParams } from '#services/control_api/sites.ts';
import { checkIfMatch, metaOf } from '../changes.ts';
import {
  done,
  doneWith,
  inSite,
  listed,
  type Outcome,
  ofListed,
  type RequestContext,
  refused,
  refusedFor,
  resource,
  route,
  shown,
} from '../route.ts';

const base = '/v1/admin/sites/{site_id}/destinations';

export const destinationRoutes = resource('Destinations', [
  route('GET', '/v1/admin/destination-kinds', 'listDestinationKinds', {
    access: 'known',
    summary: 'List the kinds of destinations, with the settings and secrets that each takes',
    success: { status: 200, schema: api.kindsShape, description: 'The kinds; a field with `secret: true` is a secret' },
    run: (_input, { adapters }) => shown({ items: adapters.map(kindOf) }),
  }),
  route('GET', '/v1/admin/destinations', 'listDestinations', {
    access: ofListed('destinations.read'),
    summary: 'List destinations; of secrets, only the names',
    query: api.destinationQuery,
    success: { status: 200, schema: pageOf(api.destinationShape), description: 'Destinations, sorted by site' },
    errors: ['site_unknown'],
    run({ query }, { view, may }) {
      const { site_id } = query;
      if (site_id !== undefined && view.table.site(site_id) === undefined) return refused('site_unknown');
      const found = view.table
        .destinations()
        .filter((item) => site_id === undefined || item.site_id === site_id)
        .filter((item) => may('destinations.read', { site: item.site_id }));
      return listed(found, query, ['site_id', 'name'], (item) => itemOf(view, item));
    },
  }),
  route('POST', base, 'createDestination', {
    access: inSite('destinations.change'),
    requiresReauthentication: ({ body }, { adapters }) => {
      const { name, settings = {} } = body;
      return callsAnew(adapters, { name, settings: {} }, settings);
    },
    summary:
      'Send the events of a site to a destination, or to another one of a kind; an address of your own takes query.persons',
    params: siteParams,
    body: api.newDestination,
    success: { status: 201, schema: api.destinationShape, description: 'The destination' },
    errors: ['site_unknown', 'destination_exists', 'claimed_elsewhere'],
    run({ params: { site_id }, body: { name, enabled = true, ...change } }, world) {
      const { table } = world.view;
      if (table.site(site_id) === undefined) return refused('site_unknown');
      if (table.destination(site_id, name) !== undefined) return refused('destination_exists');
      const created_at = world.nowMs;
      return changed({ site_id, name, enabled, settings: {}, secrets: {}, created_at }, change, world);
    },
  }),
  route('GET', `${base}/{name}`, 'getDestination', {
    access: inSite('destinations.read'),
    summary: 'Read a destination; of its secrets, only the names',
    params: api.destinationParams,
    success: { status: 200, schema: api.destinationShape, description: 'The destination' },
    errors: ['site_unknown', 'destination_unknown'],
    run({ params: { site_id, name } }, { view }) {
      const found = find(view, site_id, name);
      return 'kind' in found ? found : written([], site_id, name);
    },
  }),
  route('PATCH', `${base}/{name}`, 'changeDestination', {
    access: inSite('destinations.change'),
    requiresReauthentication({ params, body }, { adapters, view }) {
      const { site_id, name } = params;
      const before = view.table.destination(site_id, name) ?? { name, settings: {} };
      return callsAnew(adapters, before, body.settings ?? {});
    },
    summary:
      'Change the settings and secrets that are given, or switch it on or off; the others are kept. Another address takes query.persons',
    params: api.destinationParams,
    body: api.destinationChange,
    ifMatch: 'required',
    success: { status: 200, schema: api.destinationShape, description: 'The destination as it is now' },
    errors: ['site_unknown', 'destination_unknown', 'claimed_elsewhere'],
    run({ params: { site_id, name }, body, ifMatch }, world) {
      const found = find(world.view, site_id, name);
      if ('kind' in found) return found;
      const stale = checkIfMatch(world.view, destinationKey(site_id, name), ifMatch, 'required');
      if (stale !== null) return stale;
      const { enabled = found.enabled, ...change } = body;
      const before = { ...found, enabled };
      // A destination is switched off whatever its settings are: those of an older schema must not be in the way.
      if (Object.keys(change).length === 0) return written([{ body: { destination: before } }], site_id, name);
      return changed(before, change, world);
    },
  }),
  route('POST', `${base}/{name}/retry`, 'retryDestination', {
    access: inSite('destinations.change'),
    summary:
      'Have what waits for the destination tried again now, as after a repair: in seconds, what waits for hours in minutes',
    params: api.destinationParams,
    body: nothing,
    success: { status: 200, schema: api.destinationShape, description: 'The destination' },
    errors: ['site_unknown', 'destination_unknown'],
    run({ params: { site_id, name } }, { view, nowMs }) {
      const found = find(view, site_id, name);
      if ('kind' in found) return found;
      return written([{ body: { destination: { ...found, retry_at: nowMs } } }], site_id, name);
    },
  }),
  route('DELETE', `${base}/{name}`, 'deleteDestination', {
    access: inSite('destinations.change'),
    summary: 'Remove a destination with its settings and secrets',
    params: api.destinationParams,
    ifMatch: 'required',
    success: { status: 200, schema: api.destinationShape, description: 'The destination that was removed' },
    errors: ['site_unknown', 'destination_unknown'],
    run({ params: { site_id, name }, ifMatch }, { view }) {
      const found = find(view, site_id, name);
      if ('kind' in found) return found;
      const removedKey = destinationKey(site_id, name);
      const stale = checkIfMatch(view, removedKey, ifMatch, 'required');
      if (stale !== null) return stale;
      const body = itemOf(view, found);
      return done([{ removedKey }], () => ({ body }));
    },
  }),
]);

interface Change {
  settings?: Record<string, string | null>;
  secrets?: Record<string, string | null>;
  rules?: api.NewRules;
}

/** Rules as they are kept, with what was left out. */
export const rulesOf = (given: api.NewRules): DestinationRule[] => given.map((rule) => ({ ...NEW_RULE, ...rule }));

const NEW_RULE = { events: [], send: true, rename_to: null, drop_properties: [] };

function find(view: SettingsView, siteId: string, name: string): Destination | Outcome {
  if (view.table.site(siteId) === undefined) return refused('site_unknown');
  return view.table.destination(siteId, name) ?? refused('destination_unknown');
}

const adapterOf = (adapters: readonly Adapter[], id: string): Adapter | undefined =>
  adapters.find(({ name }) => name === kindOfDestination(id));

type Called = Pick<Destination, 'name' | 'settings'>;

/** Whether a change has an address called that was not before: whoever has it reads there what events say of persons. */
function callsAnew(adapters: readonly Adapter[], before: Called, given: Record<string, string | null>): boolean {
  const adapter = adapterOf(adapters, before.name);
  if (adapter === undefined) return false;
  return calledNames(adapter.schema).some(
    (name) => (given[name] ?? '') !== '' && given[name] !== before.settings[name],
  );
}

/** Whether a destination is called at an address that its site has set. */
export function isCalledByAddress(adapters: readonly Adapter[], { name, settings }: Called): boolean {
  return callsAnew(adapters, { name, settings: {} }, settings);
}

/** Null removes a setting or secret, a text sets it, and what is not named is kept. */
function changed(before: Destination, change: Change, world: RequestContext): Outcome {
  const { settings = {}, secrets = {} } = change;
  const adapter = adapterOf(world.adapters, before.name);
  if (adapter === undefined) return refused('settings_invalid', [unknownKind(world.adapters)]);
  const isAnew = callsAnew(world.adapters, before, settings);
  if (isAnew && !world.may('query.persons', { site: before.site_id })) return refused('permission_missing');
  const given = textsOf(secrets);
  const kept = Object.fromEntries(Object.entries(before.secrets).filter(([name]) => secrets[name] === undefined));
  const after = { ...textsOf({ ...before.settings, ...settings }) };
  const draft = { name: before.name, settings: after, secrets: given, storedSecrets: Object.keys(kept) };
  const misfits = [
    ...absences(before, change),
    ...destinationSettingProblems(adapter, draft),
    ...addressProblems(adapter, textsOf(settings), world),
  ];
  const problems = misfits.length > 0 ? misfits : resentProblems(adapter, before, textsOf(settings), Object.keys(kept));
  if (problems.length > 0) return refused('settings_invalid', problems);
  const rules = change.rules && { rules: rulesOf(change.rules) };
  const destination = { ...before, ...rules, settings: after, secrets: { ...kept, ...sealed(before, given, world) } };
  return (
    refusedFor(destinationProblems(destination, world.view.table)) ??
    written([{ body: { destination } }], before.site_id, before.name)
  );
}

/** Of the settings that a change gives, those that are called: the guard of what goes out would refuse them at every event. */
function addressProblems(
  { schema }: Adapter,
  given: Readonly<Record<string, string>>,
  { isAddressAllowed }: RequestContext,
): Problem[] {
  const called = calledNames(schema);
  return Object.entries(given)
    .filter(([name, value]) => called.includes(name) && value !== '' && !isAddressAllowed(value))
    .map(([name]) =>
      problem('address_refused', name, 'must be https, without a password, and lead to the public internet'),
    );
}

/**
 * The secrets that a change of a called address keeps and that are sent to it: whoever may change the address could read there
 * what is never shown. So they are given again. One that only signs is not: its signatures do not tell it.
 */
function resentProblems(
  { schema }: Adapter,
  before: Destination,
  given: Readonly<Record<string, string>>,
  kept: readonly string[],
): Problem[] {
  const called = calledNames(schema);
  const isMoved = Object.entries(given).some(
    ([name, value]) => called.includes(name) && value !== before.settings[name],
  );
  if (!isMoved) return [];
  const sent = sentSecretNames(schema);
  return kept
    .filter((name) => sent.includes(name))
    .map((name) => problem('field_missing', name, 'must be given again, as the address that it is sent to changes'));
}

function unknownKind(adapters: readonly Adapter[]): Problem {
  const names = adapters.map(({ name }) => name).join(', ');
  return problem(
    'destination_unknown',
    'name',
    `is a kind of destination, or begins with one and -, as in webhook-crm; kinds are ${names}`,
  );
}

function absences(before: Destination, { settings = {}, secrets = {} }: Change): Problem[] {
  const absent = (given: Record<string, string | null>, there: Record<string, string>): string[] =>
    Object.keys(given).filter((name) => given[name] === null && there[name] === undefined);
  return [...absent(settings, before.settings), ...absent(secrets, before.secrets)].map((name) =>
    problem('not_there', name, 'is not set, so it cannot be removed'),
  );
}

function textsOf(values: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}

function sealed({ site_id: siteId, name }: Destination, given: Record<string, string>, world: RequestContext) {
  const entries = Object.entries(given);
  return Object.fromEntries(
    entries.map(([field, value]) => [field, world.seal({ siteId, destination: name, field }, value)]),
  );
}

const written = (facts: Fact[], siteId: string, name: string): Outcome =>
  doneWith(facts, (view) => itemOf(view, view.table.destination(siteId, name) as Destination));

/** A destination without the values of its secrets, not even sealed. */
function itemOf(view: SettingsView, destination: Destination) {
  const { site_id, name, enabled, settings, secrets, rules = [] } = destination;
  const meta = metaOf(view, destinationKey(site_id, name));
  const kind = kindOfDestination(name);
  return {
    site_id,
    name,
    kind,
    enabled,
    settings: { ...settings },
    secrets: Object.keys(secrets),
    rules: [...rules],
    ...meta,
  };
}

function kindOf({ name, title, schema }: Adapter): object {
  return { name, title, schema: Type.Object(schema.properties) };
}
