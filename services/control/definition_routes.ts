// Definitions of a site, such as surveys or saved questions: the same five routes for each kind.

import type { TObject, TSchema } from 'typebox';
import type { Permission } from '#pipelines/settings/access.ts';
import type { Fact, SettingsView } from '#pipelines/settings/journal.ts';
import { type Problem, problem } from '#pipelines/settings/problems.ts';
import { closed, idField, type Meta, pageFields, pageOf } from '#services/control_api/fields.ts';
import { siteParams } from '#services/control_api/sites.ts';
import { checkIfMatch } from './changes.ts';
import type { ControlErrorCode } from './errors.ts';
import {
  done,
  doneWith,
  inSite,
  listed,
  type Outcome,
  type Refused,
  type RequestContext,
  type Route,
  refused,
  resource,
  route,
} from './route.ts';

/** A definition as it is stored: its text, and a version that counts what it said so far. */
interface StoredDefinition {
  site_id: string;
  id: string;
  version: number;
  definition: string;
}

/** A kind of definitions, with what its routes do of their own. */
interface DefinitionKind<Item extends StoredDefinition> {
  tag: string;
  /** The last part of the path of its list. */
  path: string;
  /** What one is called, alone and in sentences, as `survey` and `saved question`. */
  kind: string;
  called: string;
  /** What is said of adding one, of the one that was added, and of removing one. */
  says: { create: string; created: string; remove: string };
  permissions: { read: Permission; change: Permission };
  input: TSchema;
  shape: TObject;
  codes: { unknown: ControlErrorCode; exists: ControlErrorCode; kept?: ControlErrorCode };
  max: number;
  itemsOf(view: SettingsView, siteId: string): Item[];
  keyOf(siteId: string, id: string): string;
  viewOf(view: SettingsView, item: Item): Meta;
  /** Whether a body takes that a session's user has proven lately who they are; left out: none does. */
  requiresReauthentication?(body: unknown): boolean;
  /** The definition that a body says, in the place of another one. */
  read(
    body: unknown,
    before: Item | null,
  ): { ok: true; definition: { id: string } } | { ok: false; problems: Problem[] };
  /** What is written, or why nothing is. */
  write(stored: StoredDefinition, body: unknown, before: Item | null, world: RequestContext): Fact | Refused;
  /** What is written when one is removed, beside that. */
  alsoEnded?(view: SettingsView, siteId: string, id: string, nowMs: number): Fact[];
  /** Whether one must not be removed. */
  isKept?(view: SettingsView, siteId: string, id: string): boolean;
}

const itemParams = closed({ site_id: idField('The site it belongs to'), id: idField('Its id') });

/** List, create, read, replace and remove, of one kind. */
export function definitionRoutes<Item extends StoredDefinition>(of: DefinitionKind<Item>): Route[] {
  const { kind, called, codes, permissions, shape, keyOf } = of;
  const name = `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
  const path = `/v1/admin/sites/{site_id}/${of.path}`;
  const itemPath = `${path}/{id}`;
  const errors = ['site_unknown', codes.unknown] as const;
  const success = (description: string) => ({ status: 200, schema: shape, description }) as const;

  const find = (view: SettingsView, siteId: string, id: string): Item | undefined =>
    of.itemsOf(view, siteId).find((item) => item.id === id);
  const withItem = (view: SettingsView, siteId: string, id: string, then: (item: Item) => Outcome): Outcome => {
    if (view.table.site(siteId) === undefined) return refused('site_unknown');
    const item = find(view, siteId, id);
    return item === undefined ? refused(codes.unknown) : then(item);
  };
  const show = (facts: Fact[], siteId: string, id: string): Outcome =>
    doneWith(facts, (view) => of.viewOf(view, find(view, siteId, id) as Item));
  const { requiresReauthentication: isAsked } = of;
  const proven = isAsked && { requiresReauthentication: ({ body }: { body: unknown }): boolean => isAsked(body) };
  const written = (siteId: string, id: string, fact: Fact | Refused): Outcome =>
    'kind' in fact ? fact : show([fact], siteId, id);

  return resource(of.tag, [
    route('GET', path, `list${name}s`, {
      access: inSite(permissions.read),
      summary: `List the ${called}s of a site`,
      params: siteParams,
      query: closed(pageFields),
      success: { status: 200, schema: pageOf(shape), description: 'Sorted by id' },
      errors: ['site_unknown'],
      run({ params: { site_id }, query }, { view }) {
        if (view.table.site(site_id) === undefined) return refused('site_unknown');
        const items = of.itemsOf(view, site_id).sort((a, b) => (a.id < b.id ? -1 : 1));
        return listed<'id', Item>(items, query, 'id', (item) => of.viewOf(view, item));
      },
    }),
    route('POST', path, `create${name}`, {
      access: inSite(permissions.change),
      ...proven,
      summary: of.says.create,
      params: siteParams,
      body: of.input,
      success: { status: 201, schema: shape, description: of.says.created },
      errors: ['site_unknown', codes.exists, 'limit_reached'],
      run({ params: { site_id }, body }, world) {
        const { view } = world;
        if (view.table.site(site_id) === undefined) return refused('site_unknown');
        const read = of.read(body, null);
        if (!read.ok) return refused('settings_invalid', read.problems);
        const { definition } = read;
        if (find(view, site_id, definition.id) !== undefined) return refused(codes.exists);
        if (of.itemsOf(view, site_id).length >= of.max) return refused('limit_reached');
        const stored = { site_id, id: definition.id, version: 1, definition: JSON.stringify(definition) };
        return written(site_id, stored.id, of.write(stored, body, null, world));
      },
    }),
    route('GET', itemPath, `get${name}`, {
      params: itemParams,
      access: inSite(permissions.read),
      summary: `Read a ${called}`,
      success: success(`The ${kind}`),
      errors,
      run: ({ params: { site_id, id } }, { view }) => withItem(view, site_id, id, () => show([], site_id, id)),
    }),
    route('PUT', itemPath, `replace${name}`, {
      params: itemParams,
      access: inSite(permissions.change),
      ...proven,
      summary: `Replace a ${called}; its id stays`,
      body: of.input,
      ifMatch: 'required',
      success: success(`The ${kind} as it is now`),
      errors,
      run: ({ params: { site_id, id }, body, ifMatch }, world) =>
        withItem(world.view, site_id, id, (before) => {
          const stale = checkIfMatch(world.view, keyOf(site_id, id), ifMatch, 'required');
          if (stale !== null) return stale;
          const read = of.read(body, before);
          if (!read.ok) return refused('settings_invalid', read.problems);
          if (read.definition.id !== id) {
            return refused('settings_invalid', [problem('id_malformed', 'id', 'is not the id in the path')]);
          }
          const definition = JSON.stringify(read.definition);
          const version = before.version + (definition === before.definition ? 0 : 1);
          return written(site_id, id, of.write({ site_id, id, version, definition }, body, before, world));
        }),
    }),
    route('DELETE', itemPath, `delete${name}`, {
      params: itemParams,
      access: inSite(permissions.change),
      summary: of.says.remove,
      ifMatch: 'required',
      success: success(`The ${kind} that was removed`),
      errors: codes.kept === undefined ? errors : [...errors, codes.kept],
      run: ({ params: { site_id, id }, ifMatch }, { view, nowMs }) =>
        withItem(view, site_id, id, (item) => {
          const stale = checkIfMatch(view, keyOf(site_id, id), ifMatch, 'required');
          if (stale !== null) return stale;
          if (codes.kept !== undefined && of.isKept?.(view, site_id, id) === true) return refused(codes.kept);
          const body = of.viewOf(view, item);
          const ended = of.alsoEnded?.(view, site_id, id, nowMs) ?? [];
          return done([{ removedKey: keyOf(site_id, id) }, ...ended], () => ({ body }));
        }),
    }),
  ]);
}
