import { expect, test, vi } from 'vitest';
import { isTimeZone } from '#pipelines/settings/calendar.ts';
import type { EventDefinition } from '#pipelines/settings/event_definitions.ts';
import type { EngageView } from '#services/control_api/engage.ts';
import type { SiteItem } from '#services/control_api/sites.ts';
import {
  definitionBody,
  draftOfDefinition,
  draftProblems,
  lineValue,
  withLine,
} from '#services/dashboard/src/pages/definitions/definition_form.ts';
import { rowsOf, stateOf } from '#services/dashboard/src/pages/definitions/definitions_page.tsx';
import { questionWords, readObject } from '#services/dashboard/src/pages/engage/engage_item.ts';
import { edgeOrigin, isBrowserKey, snippet, usualEdge } from '#services/dashboard/src/pages/install/install_page.tsx';
import { bodyOfKey } from '#services/dashboard/src/pages/keys/key_fields.tsx';
import { tokenBody } from '#services/dashboard/src/pages/members/grants.ts';
import { type ReplayDraft, replayBody } from '#services/dashboard/src/pages/replays/replay_sentences.ts';
import {
  accountsWith,
  generalChange,
  generalDraft,
  siteIdOf,
  zoneChoices,
} from '#services/dashboard/src/pages/site/site_form.ts';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

const DAY_MS = 86_400_000;

test('zones have their names of today beside those that browsers list, each once, and UTC is first', () => {
  const zones = zoneChoices().map(({ value }) => value);
  expect(zones).toEqual(expect.arrayContaining(['Asia/Kolkata', 'Europe/Kyiv', 'America/New_York']));
  expect(zones.filter((zone) => !isTimeZone(zone))).toEqual([]);
  expect(new Set(zones).size).toBe(zones.length);
  expect(zones[0]).toBe('UTC');
});

test('a token gets what the form says: everything, or roles in places', () => {
  const grant = { role: 'viewer', account_id: null, site_id: 'shop' };
  const draft = { label: ' ci ', isAll: false, grants: [grant], days: '7' };
  expect(tokenBody(draft, 0)).toEqual({ label: 'ci', grants: [grant], expires_at: 7 * DAY_MS });
  expect(tokenBody({ ...draft, isAll: true, days: '' }, 0)).toEqual({ label: 'ci', expires_at: null });
});

test('a definition that has not fired says what it waits for, also one that is newer than what is known', () => {
  const buy = { id: 'buy', trigger: 'click', enabled: true } as EventDefinition;
  const of = (definition: EventDefinition, health: Parameters<typeof rowsOf>[1]): string[] =>
    rowsOf([definition], health).map((row) => stateOf(row).label);
  const known = { definitions: [{ id: 'buy', state: 'never_fired' }] } as Parameters<typeof rowsOf>[1];
  const none = { definitions: [] as unknown[] } as Parameters<typeof rowsOf>[1];
  expect([...of(buy, known), ...of(buy, none)]).toEqual(Array(2).fill('Waiting for the first click'));
  expect(of({ ...buy, trigger: 'pageview' }, none)).toEqual(['Waiting for the first page view']);
  expect([...of(buy, null), ...of({ ...buy, enabled: false }, none)]).toEqual(['Unknown', 'Disabled']);
});

test('a definition comes out of its form as it went in', () => {
  const definition: EventDefinition = {
    ...{ id: 'buy', name: 'purchase', trigger: 'scroll' as const, selector: '', url_pattern: '/x', text_contains: '' },
    ...{ properties: { scroll_percent: 40, section: 'foot' }, conversion_event: '', destinations: { meta: false } },
    ...{ value_selector: '.sum', field_selectors: { email: 'input[name=email]' }, enabled: true },
  };
  const draft = draftOfDefinition(definition);
  expect(definitionBody(draft)).toEqual(definition);
  expect(lineValue(draft.properties, 'scroll_percent')).toBe('40');
  expect(definitionBody({ ...draft, properties: withLine(draft.properties, 'scroll_percent', '') }).properties).toEqual(
    {
      section: 'foot',
    },
  );
});

test('the line for the pages is made of an origin and a browser key, and of nothing else', () => {
  expect(edgeOrigin('https://edge.example/"><script>')).toBe('https://edge.example');
  expect(edgeOrigin('javascript:alert(1)')).toBeNull();
  expect(isBrowserKey('svc_pk_a1"')).toBe(false);
  expect(snippet('https://e.example', 'svc_pk_a1')).toBe(
    '<script async src="https://e.example/svc.min.js" data-key="svc_pk_a1"></script>',
  );
  const domains = (state: string) => [{ domain: 'e.shop.example', state }];
  expect(usualEdge(domains('pending'), null)).toBe('');
  expect(usualEdge(domains('pending'), 'https://edge.example')).toBe('https://edge.example');
  expect(usualEdge(domains('verified'), 'https://edge.example')).toBe('https://e.shop.example');
});

test('only what was changed of a site is sent, and an emptied field is null', () => {
  const site = {
    ...{ name: 'Shop', mode: 'online', business_category: 'other', default_country: 'AT', identify_events: null },
    ...{ clarity_project_id: null, gtm_container_id: null, event_days: null, outcome_days: 90 },
    ...{ time_zone: null, week_start: null, visitor_places: null, visitor_addresses: 'cut', currency: null },
    person_days: 400,
    embed_origins: [] as string[],
    consent_defaults: [{ country: 'EEA', consent: 'denied' }],
  } as SiteItem;
  const draft = generalDraft(site);
  expect(generalChange(draft, site)).toEqual({});
  expect(draft.consentDefaults).toBe('EEA denied');
  const embeds = generalChange({ ...draft, embedOrigins: ' https://a.example\n\n' }, site);
  expect(embeds).toEqual({ embed_origins: ['https://a.example'] });
  expect(generalChange({ ...draft, consentDefaults: ' de=denied\n\nElse granted' }, site)).toEqual({
    consent_defaults: [
      { country: 'DE', consent: 'denied' },
      { country: null, consent: 'granted' },
    ],
  });
  expect(generalChange({ ...draft, eventDays: '30', outcomeDays: '', personDays: ' ' }, site)).toEqual({
    event_days: 30,
    outcome_days: null,
    person_days: null,
  });
  expect(generalChange({ ...draft, country: ' ', identifyEvents: 'login\n\nsign_up ' }, site)).toEqual({
    default_country: null,
    identify_events: ['login', 'sign_up'],
  });
});

test('texts that read as something else stay texts in the form of a definition', () => {
  const properties = {
    ...{ plan: '2', flag: 'true', sku: '12345678901234567890', note: 'a\nb', quoted: '"x"', spaced: ' x ', none: '' },
    ...{ count: 2, on: true, nothing: null, deep: { a: ['1', 1] }, 'a=b': 1, 'two words': 'plain = text' },
  };
  const field_selectors = { email: 'input[name=email]', 'data[0]': '#total', odd: '"' };
  const draft = draftOfDefinition({ ...definitionBody(draftOfDefinition(null)), properties, field_selectors });
  expect(draft.properties.split('\n').slice(0, 3)).toEqual([
    'plan = "2"',
    'flag = "true"',
    'sku = 12345678901234567890',
  ]);
  expect(draftProblems(draft, () => true)).toEqual([]);
  expect(definitionBody(draft)).toMatchObject({ properties, field_selectors });
  expect(Object.keys(definitionBody(draft).properties)).toEqual(Object.keys(properties));
});

test('lines that are not understood are named, and stay when another is changed', () => {
  const draft = {
    ...draftOfDefinition(null),
    fields: 'email: input[name=email]\n\nname = #name',
    properties: 'section footer\na = 1\n a = 2',
  };
  expect(draftProblems(draft, () => true).map(({ field, message }) => `${field}: ${message}`)).toEqual([
    'field_selectors: Line 1 is not “name = value”; put names with other characters in quotes.',
    'properties: Line 1 is not “name = value”; put names with other characters in quotes.',
    'properties: Line 3 repeats a name.',
  ]);
  expect(withLine('section footer\na = 1', 'scroll_percent', '40')).toBe('section footer\na = 1\nscroll_percent = 40');
});

test('what the browser does not take for a selector is named by its field', () => {
  const draft = { ...draftOfDefinition(null), selector: 'div >> p', valueSelector: ' ', fields: 'a = #a\nb = ##' };
  const found = draftProblems(draft, (text) => text === '#a');
  expect(found.map(({ code, field }) => `${code} ${field}`)).toEqual([
    'selector_malformed selector',
    'selector_malformed field_selectors',
  ]);
  expect(found[0]?.message).toBe('“div >> p” is not a CSS selector.');
});

test.for([
  ['', null],
  [' 100 ', 100],
  ['1,000', '1,000'],
  ['100/s', '100/s'],
  ['Infinity', 'Infinity'],
  ['9'.repeat(400), '9'.repeat(400)],
] as const)('a limit of %j is sent as what it is', ([rate, sent]) => {
  const body = JSON.parse(JSON.stringify(bodyOfKey({ label: '', origins: '', rate }))) as object;
  expect(body).toMatchObject({ rate_limit: sent });
  const replay: ReplayDraft = {
    destination: 'meta',
    site: '',
    source: 'events',
    range: '24h',
    from: '',
    to: '',
    force: false,
    rate,
  };
  expect(JSON.parse(JSON.stringify(replayBody(replay, 0))) as object).toEqual(
    expect.objectContaining(sent === null ? {} : { rate: sent }),
  );
});

test('origins of a key stand on lines, and a text is an object of JSON or says why not', () => {
  expect(bodyOfKey({ label: ' web ', origins: 'https://a.example\n\n https://b.example', rate: '' })).toEqual({
    ...{ label: 'web', allowed_origins: ['https://a.example', 'https://b.example'], rate_limit: null },
  });
  expect(readObject('{"a":1}')).toEqual({ ok: true, value: { a: 1 } });
  expect(readObject('[1]')).toMatchObject({ ok: false });
  expect(readObject('{"a"')).toMatchObject({ ok: false });
});

test('a new site has the id that its name suggests until one is typed', () => {
  const draft = { name: '  Café & Söhne – Zürich!  ', siteId: null, accountId: '', allowance: '' };
  expect(siteIdOf(draft)).toBe('cafe-sohne-zurich');
  expect(siteIdOf({ ...draft, name: 'é'.repeat(200) })).toBe('e'.repeat(64));
  expect(siteIdOf({ ...draft, siteId: ' cafe ' })).toBe('cafe');
  expect(siteIdOf({ ...draft, name: '東京' })).toBe('');
});

test('a site is made in accounts where that is permitted for the whole of them', () => {
  const accounts = ['acme', 'other'].map((account_id) => ({
    ...{ account_id, name: account_id, monthly_allowance: 1, used_this_month: null },
    ...{ version: 'v', changed_at: 0, changed_by: '' },
  }));
  const grant = { role: 'admin', account_id: 'acme', site_id: null, permissions: ['site.create' as const] };
  const found = (change: object): string[] =>
    accountsWith('site.create', accounts, [{ ...grant, ...change }]).map(({ account_id }) => account_id);
  expect(found({})).toEqual(['acme']);
  expect(found({ account_id: null })).toEqual(['acme', 'other']);
  expect(found({ account_id: null, site_id: 'shop' })).toEqual([]);
  expect(found({ permissions: ['site.read'] })).toEqual([]);
});

test('a question of a survey is called by its text and its choices by their labels, where it still has them', () => {
  const question = {
    id: 'missing',
    type: 'single',
    text: 'What was missing?',
    choices: [{ id: 'price', label: 'Prices' }],
  };
  const survey = { id: 's', questions: [question] } as unknown as EngageView;
  expect(questionWords(survey, 'missing')).toEqual({
    text: 'What was missing?',
    choices: new Map([['price', 'Prices']]),
  });
  expect(questionWords(survey, 'gone')).toEqual({ text: 'gone', choices: new Map() });
});
