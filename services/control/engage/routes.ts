// Surveys, promos and forms.
import { ENGAGE_KINDS } from '#pipelines/engage/definition_fields.ts';
import type { Definition } from '#pipelines/engage/definition_problems.ts';
import { DEFINITIONS_MAX, readDefinition, siteEngageProblems } from '#pipelines/engage/site_engage.ts';
import { engageKey } from '#pipelines/settings/table.ts';
import type { EngageItem } from '#schemas/setting.ts';
import { ENGAGE_PATHS, type EngageView, engageInputs, engageShapes } from '#services/control_api/engage.ts';
import { metaOf } from '../changes.ts';
import { definitionRoutes } from '../definition_routes.ts';
import { type Route, refusedFor } from '../route.ts';

export const engageRoutes: Route[] = ENGAGE_KINDS.flatMap((kind) =>
  definitionRoutes<EngageItem>({
    tag: 'Surveys, promos and forms',
    path: ENGAGE_PATHS[kind],
    kind,
    called: kind,
    says: {
      create: `Add a ${kind} to a site`,
      created: `The ${kind}, with every default filled in`,
      remove: `Remove a ${kind}; its events and results stay`,
    },
    permissions: { read: 'site.read', change: 'engage.change' },
    input: engageInputs[kind],
    shape: engageShapes[kind],
    codes: { unknown: 'engage_definition_unknown', exists: 'engage_definition_exists' },
    max: DEFINITIONS_MAX,
    itemsOf: (view, siteId) => view.table.engageItems(siteId).filter((item) => item.kind === kind),
    keyOf: (siteId, id) => engageKey(siteId, kind, id),
    viewOf(view, { site_id, id, version, definition }): EngageView {
      const fields = JSON.parse(definition) as Definition;
      return { ...fields, revision: version, ...metaOf(view, engageKey(site_id, kind, id)) };
    },
    read: (body) => readDefinition(kind, body),
    write({ site_id, id, version, definition }, _body, _before, { view }) {
      const item = { site_id, kind, id, version, definition };
      const others = view.table.engageItems(site_id).filter((other) => other.kind !== kind || other.id !== id);
      return refusedFor(siteEngageProblems([...others, item])) ?? { body: { engage: item } };
    },
  }),
);

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
