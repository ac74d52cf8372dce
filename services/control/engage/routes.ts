// Surveys, promos and forms: the same five routes for each kind.
import { ENGAGE_KINDS, type EngageKind } from '#pipelines/engage/definition_fields.ts';
import type { Definition } from '#pipelines/engage/definition_problems.ts';
import { DEFINITIONS_MAX, readDefinition, siteEngageProblems } from '#pipelines/engage/site_engage.ts';
import type { SettingsView } from '#pipelines/settings/journal.ts';
import { problem } from '#pipelines/settings/problems.ts';
import { engageKey } from '#pipelines/settings/table.ts';
import type { EngageItem } from '#schemas/setting.ts';
import {
  ENGAGE_PATHS,
  type EngageView,
  engageInputs,
  engageParams,
  engageShapes,
} from '#services/control_api/engage.ts';
import { closed, pageFields, pageOf } from '#services/control_api/fields.ts';
import { siteParams } from '#services/control_api/sites.ts';
import { inSite } from '../auth.ts';
import {
  checkIfMatch,
  done,
  listed,
  metaOf,
  type Outcome,
  type Route,
  refused,
  refusedFor,
  route,
  type Shown,
} from '../route.ts';

const tag = 'Surveys, promos and forms';
const baseOf = (kind: EngageKind): string => `/v1/admin/sites/{site_id}/${ENGAGE_PATHS[kind]}`;
const nameOf = (kind: EngageKind): string => `${kind[0]?.toUpperCase()}${kind.slice(1)}`;

const showItem =
  (siteId: string, kind: EngageKind, id: string) =>
  (view: SettingsView): Shown => {
    const item = find(view, siteId, kind, id);
    if (item === undefined) throw new Error(`no ${kind} ${id} after it was written`);
    const body = viewOf(view, item);
    return { body, version: body.version };
  };

/** The same five routes for each kind. */
export const engageRoutes: Route[] = ENGAGE_KINDS.flatMap((kind) => [
  listRoute(kind),
  createRoute(kind),
  readRoute(kind),
  replaceRoute(kind),
  removeRoute(kind),
]);

function listRoute(kind: EngageKind): Route {
  return route({
    method: 'GET',
    path: baseOf(kind),
    operationId: `list${nameOf(kind)}s`,
    access: inSite('site.read'),
    tag,
    summary: `List the ${ENGAGE_PATHS[kind]} of a site`,
    params: siteParams,
    query: closed(pageFields),
    success: { status: 200, schema: pageOf(engageShapes[kind]), description: 'Sorted by id' },
    errors: ['site_unknown'],
    run({ params: { site_id }, query }, { view }) {
      if (view.table.site(site_id) === undefined) return refused('site_unknown');
      const items = itemsOf(view, site_id, kind).sort((a, b) => (a.id < b.id ? -1 : 1));
      return listed(items, query, 'id', (item) => viewOf(view, item));
    },
  });
}

function createRoute(kind: EngageKind): Route {
  return route({
    method: 'POST',
    path: baseOf(kind),
    operationId: `create${nameOf(kind)}`,
    access: inSite('engage.change'),
    tag,
    summary: `Add a ${kind} to a site`,
    params: siteParams,
    body: engageInputs[kind],
    success: { status: 201, schema: engageShapes[kind], description: `The ${kind}, with every default filled in` },
    errors: ['site_unknown', 'engage_definition_exists', 'limit_reached'],
    run({ params: { site_id }, body }, { view }) {
      if (view.table.site(site_id) === undefined) return refused('site_unknown');
      const read = readDefinition(kind, body);
      if (!read.ok) return refused('settings_invalid', read.problems);
      if (find(view, site_id, kind, read.definition.id) !== undefined) return refused('engage_definition_exists');
      if (itemsOf(view, site_id, kind).length >= DEFINITIONS_MAX) return refused('limit_reached');
      return written(view, site_id, kind, read.definition, 1);
    },
  });
}

function readRoute(kind: EngageKind): Route {
  return route({
    method: 'GET',
    path: `${baseOf(kind)}/{id}`,
    operationId: `get${nameOf(kind)}`,
    access: inSite('site.read'),
    tag,
    summary: `Read a ${kind}`,
    params: engageParams,
    success: { status: 200, schema: engageShapes[kind], description: `The ${kind}` },
    errors: ['site_unknown', 'engage_definition_unknown'],
    run({ params: { site_id, id } }, { view }) {
      const found = known(view, site_id, kind, id);
      return 'kind' in found && !('version' in found) ? found : done([], showItem(site_id, kind, id));
    },
  });
}

function replaceRoute(kind: EngageKind): Route {
  return route({
    method: 'PUT',
    path: `${baseOf(kind)}/{id}`,
    operationId: `replace${nameOf(kind)}`,
    access: inSite('engage.change'),
    tag,
    summary: `Replace a ${kind}; its id stays`,
    params: engageParams,
    body: engageInputs[kind],
    ifMatch: 'required',
    success: { status: 200, schema: engageShapes[kind], description: `The ${kind} as it is now` },
    errors: ['site_unknown', 'engage_definition_unknown'],
    run({ params: { site_id, id }, body, ifMatch }, { view }) {
      const found = known(view, site_id, kind, id);
      if (!('version' in found)) return found;
      const stale = checkIfMatch(view, engageKey(site_id, kind, id), ifMatch, 'required');
      if (stale !== null) return stale;
      const read = readDefinition(kind, body);
      if (!read.ok) return refused('settings_invalid', read.problems);
      if (read.definition.id !== id) {
        return refused('settings_invalid', [problem('id_malformed', 'id', 'is not the id in the path')]);
      }
      const isSame = JSON.stringify(read.definition) === found.definition;
      return written(view, site_id, kind, read.definition, found.version + (isSame ? 0 : 1));
    },
  });
}

function removeRoute(kind: EngageKind): Route {
  return route({
    method: 'DELETE',
    path: `${baseOf(kind)}/{id}`,
    operationId: `delete${nameOf(kind)}`,
    access: inSite('engage.change'),
    tag,
    summary: `Remove a ${kind}; its events and results stay`,
    params: engageParams,
    ifMatch: 'required',
    success: { status: 200, schema: engageShapes[kind], description: `The ${kind} that was removed` },
    errors: ['site_unknown', 'engage_definition_unknown'],
    run({ params: { site_id, id }, ifMatch }, { view }) {
      const found = known(view, site_id, kind, id);
      if (!('version' in found)) return found;
      const key = engageKey(site_id, kind, id);
      const body = viewOf(view, found);
      return checkIfMatch(view, key, ifMatch, 'required') ?? done([{ removedKey: key }], () => ({ body }));
    },
  });
}

function itemsOf(view: SettingsView, siteId: string, kind: EngageKind): EngageItem[] {
  return view.table.engageItems(siteId).filter((item) => item.kind === kind);
}

function find(view: SettingsView, siteId: string, kind: EngageKind, id: string): EngageItem | undefined {
  return view.table.engageItems(siteId).find((item) => item.kind === kind && item.id === id);
}

function known(view: SettingsView, siteId: string, kind: EngageKind, id: string): EngageItem | Outcome {
  if (view.table.site(siteId) === undefined) return refused('site_unknown');
  return find(view, siteId, kind, id) ?? refused('engage_definition_unknown');
}

function written(
  view: SettingsView,
  siteId: string,
  kind: EngageKind,
  definition: Definition,
  version: number,
): Outcome {
  const { id } = definition;
  const item = { site_id: siteId, kind, id, version, definition: JSON.stringify(definition) };
  const others = view.table.engageItems(siteId).filter((other) => other.kind !== kind || other.id !== id);
  const problems = siteEngageProblems([...others, item]);
  return refusedFor(problems) ?? done([{ body: { engage: item } }], showItem(siteId, kind, id));
}

function viewOf(view: SettingsView, { site_id, kind, id, version, definition }: EngageItem): EngageView {
  const fields = JSON.parse(definition) as Definition;
  return { ...fields, revision: version, ...metaOf(view, engageKey(site_id, kind, id)) };
}

const surveyExample = {
  id: 'after-purchase',
  name: 'After the purchase',
  targeting: { url_pattern: ['/thanks*'], audience: [{ event: 'purchase', times: 1, within_days: 30 }] },
  frequency: { max_times: 2, every_days: 14, wait_any_days: 1 },
  consent_needed: 'analytics',
  title: 'Two questions',
  questions: [
    {
      id: 'nps',
      type: 'rating',
      scale: 11,
      text: 'How likely is it that you recommend us?',
      required: true,
      branches: [{ is: 'at_least', to: [9], go_to: 'end' }],
    },
    {
      id: 'why',
      type: 'single',
      text: 'What should be better?',
      choices: [
        { id: 'price', label: 'Prices' },
        { id: 'delivery', label: 'Delivery' },
      ],
      open_choice: true,
    },
  ],
  thanks: { title: 'Thank you' },
  translations: { nl: { title: 'Twee vragen', 'questions.why.choices.price.label': 'Prijzen' } },
};

const promoExample = {
  id: 'winter-sale',
  name: 'Winter sale',
  priority: 80,
  share_percent: 50,
  starts_at: Date.UTC(2027, 0, 2),
  ends_at: Date.UTC(2027, 1, 1),
  consent_needed: 'ads',
  place: 'banner',
  title: '20% off winter coats',
  button: { text: 'See them', url: '/winter' },
  code: 'WINTER20',
  creative: 'snow',
  slot: 'top',
};

const formExample = {
  id: 'quote',
  name: 'Ask for a quote',
  place: 'inline',
  mount: '#quote',
  frequency: { max_times: null, after_done: 0 },
  title: 'Ask for a quote',
  fields: [
    { name: 'email', type: 'email', label: 'E-mail', required: true, map: 'email' },
    { name: 'phone', type: 'tel', label: 'Phone', map: 'phone' },
    {
      name: 'size',
      type: 'select',
      label: 'Size of your company',
      options: [
        { id: 'small', label: 'Up to 50' },
        { id: 'large', label: 'More' },
      ],
      store: 'keep',
    },
    { name: 'message', type: 'textarea', label: 'Your question', max_length: 2000 },
  ],
  button: 'Send',
  consent_text: 'We use what you write to answer you.',
  consent_required: true,
  consent_version: '2026-11',
  message: 'Thank you, we call you back.',
  redirect: 'https://shop.example/thanks',
};

/** Bodies of the routes of surveys, promos and forms, as people would send them. */
export const ENGAGE_EXAMPLES: Readonly<Record<string, object>> = {
  createSurvey: surveyExample,
  replaceSurvey: { ...surveyExample, enabled: false },
  createPromo: promoExample,
  replacePromo: { ...promoExample, ends_at: Date.UTC(2027, 1, 15) },
  createForm: formExample,
  replaceForm: { ...formExample, redirect: 'https://shop.example/thank-you' },
};
