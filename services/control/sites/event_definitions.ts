// Event definitions of a site.

import { type Static, Type } from 'typebox';
import {
  definitionsOf,
  type EventDefinition,
  eventDefinitionSchema,
  readEventDefinition,
} from '#pipelines/settings/event_definitions.ts';
import type { Fact, SettingsView } from '#pipelines/settings/journal.ts';
import { problem } from '#pipelines/settings/problems.ts';
import { siteKey } from '#pipelines/settings/table.ts';
import { siteProblems } from '#pipelines/settings/validate.ts';
import type { Site } from '#schemas/setting.ts';
import { definitionInput, definitionParams, siteParams } from '#services/control_api/sites.ts';
import { checkIfMatch, metaOf } from '../changes.ts';
import { done, inSite, type Outcome, refused, refusedFor, resource, route } from '../route.ts';

const base = '/v1/admin/sites/{site_id}/event-definitions';
const listShape = Type.Object({ items: Type.Array(eventDefinitionSchema) });
const versioned = 'Its ETag is that of the site it is part of, and so is the If-Match that changes it';

export const definitionRoutes = resource('Event definitions', [
  route('GET', base, 'listEventDefinitions', {
    access: inSite('site.read'),
    summary: 'List the event definitions of a site, in the order the tag has them',
    params: siteParams,
    success: { status: 200, schema: listShape, description: `The definitions. ${versioned}` },
    errors: ['site_unknown'],
    run({ params: { site_id } }, { view }) {
      const site = view.table.site(site_id);
      if (site === undefined) return refused('site_unknown');
      const { version } = metaOf(view, siteKey(site_id));
      return done([], () => ({ body: { items: definitionsOf(site) }, version }));
    },
  }),
  route('POST', base, 'createEventDefinition', {
    access: inSite('definitions.change'),
    summary: 'Add an event definition to a site',
    params: siteParams,
    body: definitionInput,
    ifMatch: 'optional',
    success: { status: 201, schema: eventDefinitionSchema, description: `The definition. ${versioned}` },
    errors: ['site_unknown', 'event_definition_exists'],
    run({ params: { site_id }, body, ifMatch }, { view }) {
      const site = view.table.site(site_id);
      if (site === undefined) return refused('site_unknown');
      const stale = checkIfMatch(view, siteKey(site_id), ifMatch, 'optional');
      if (stale !== null) return stale;
      const before = definitionsOf(site);
      if (before.some(({ id }) => id === body.id)) return refused('event_definition_exists');
      return written(view, site, body, (definition) => [...before, definition]);
    },
  }),
  route('GET', `${base}/{definition_id}`, 'getEventDefinition', {
    access: inSite('site.read'),
    summary: 'Read an event definition',
    params: definitionParams,
    success: { status: 200, schema: eventDefinitionSchema, description: `The definition. ${versioned}` },
    errors: ['site_unknown', 'event_definition_unknown'],
    run({ params: { site_id, definition_id } }, { view }) {
      const found = find(view, site_id, definition_id);
      return 'kind' in found ? found : showDefinition([], site_id, found.definition);
    },
  }),
  route('PUT', `${base}/{definition_id}`, 'replaceEventDefinition', {
    access: inSite('definitions.change'),
    summary: 'Replace an event definition; its id stays',
    params: definitionParams,
    body: definitionInput,
    ifMatch: 'required',
    success: { status: 200, schema: eventDefinitionSchema, description: `The definition as it is now. ${versioned}` },
    errors: ['site_unknown', 'event_definition_unknown'],
    run({ params: { site_id, definition_id }, body, ifMatch }, { view }) {
      const found = find(view, site_id, definition_id);
      if ('kind' in found) return found;
      const stale = checkIfMatch(view, siteKey(site_id), ifMatch, 'required');
      if (stale !== null) return stale;
      if (body.id !== definition_id) {
        return refused('settings_invalid', [problem('id_malformed', 'id', 'is not the id in the path')]);
      }
      return written(view, found.site, body, (definition) =>
        definitionsOf(found.site).map((other) => (other.id === definition_id ? definition : other)),
      );
    },
  }),
  route('DELETE', `${base}/{definition_id}`, 'deleteEventDefinition', {
    access: inSite('definitions.change'),
    summary: 'Remove an event definition',
    params: definitionParams,
    ifMatch: 'required',
    success: { status: 200, schema: eventDefinitionSchema, description: 'The definition that was removed' },
    errors: ['site_unknown', 'event_definition_unknown'],
    run({ params: { site_id, definition_id }, ifMatch }, { view }) {
      const found = find(view, site_id, definition_id);
      if ('kind' in found) return found;
      const stale = checkIfMatch(view, siteKey(site_id), ifMatch, 'required');
      if (stale !== null) return stale;
      const left = definitionsOf(found.site).filter(({ id }) => id !== definition_id);
      return done([{ body: { site: withDefinitions(found.site, left) } }], () => ({ body: found.definition }));
    },
  }),
]);

function find(
  view: SettingsView,
  siteId: string,
  definitionId: string,
): { site: Site; definition: EventDefinition } | Outcome {
  const site = view.table.site(siteId);
  if (site === undefined) return refused('site_unknown');
  const definition = definitionsOf(site).find(({ id }) => id === definitionId);
  return definition === undefined ? refused('event_definition_unknown') : { site, definition };
}

function written(
  view: SettingsView,
  site: Site,
  body: Static<typeof definitionInput>,
  listWith: (definition: EventDefinition) => EventDefinition[],
): Outcome {
  const read = readEventDefinition(body);
  if (!read.ok) {
    return refused('settings_invalid', [problem('event_definition_malformed', 'event_definition', read.message)]);
  }
  const after = withDefinitions(site, listWith(read.definition));
  return (
    refusedFor(siteProblems(after, view.table, site)) ??
    showDefinition([{ body: { site: after } }], site.site_id, read.definition)
  );
}

const showDefinition = (facts: Fact[], siteId: string, definition: EventDefinition): Outcome =>
  done(facts, (view) => ({ body: definition, version: metaOf(view, siteKey(siteId)).version }));

const withDefinitions = (site: Site, definitions: readonly EventDefinition[]): Site => ({
  ...site,
  event_definitions: definitions.map((definition) => JSON.stringify(definition)),
});
