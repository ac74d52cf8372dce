import { expect, test } from 'vitest';
import { decide, deliver, prepare } from '#pipelines/delivery/deliver.ts';
import { ga4 } from '#pipelines/delivery/destinations/ga4/adapter.ts';
import { meta } from '#pipelines/delivery/destinations/meta/adapter.ts';
import { webhook } from '#pipelines/delivery/destinations/webhook/adapter.ts';
import { applyRule, ruleFor } from '#pipelines/delivery/rules.ts';
import { ruleProblems } from '#pipelines/settings/validate.ts';
import type { EventEntry } from '#schemas/event.ts';
import type { DestinationRule } from '#schemas/setting.ts';
import { entryOf, NO_IDENTIFIERS, NOW_MS, personOf, siteOf } from './entries.ts';
import { answered, metaJob, portsOf, webhookJob } from './harness.ts';

const ruleOf = (rule: Partial<DestinationRule>): DestinationRule => ({
  events: [],
  send: true,
  rename_to: null,
  drop_properties: [],
  ...rule,
});

test.each<[string[], (string | null)[], boolean]>([
  [[], ['anything'], true],
  [['purchase'], ['purchase'], true],
  [['purchase'], ['Order Completed', null, 'purchase'], true],
  [['purchase'], ['purchase_2'], false],
  [['Checkout *'], ['checkout_started'], true],
  [['*_viewed'], ['Product Viewed'], true],
  [['*'], ['x'], true],
  [['a*b*c'], ['a1b2c'], true],
  [['a*b*c'], ['a1c2b'], false],
  [['add_to_cart', 'purchase'], ['purchase'], true],
  [['constructor'], ['purchase'], false],
])('a rule for %j is for an event called %j: %s', (events, names, isFor) => {
  expect(ruleFor([ruleOf({ events })], names) !== null).toBe(isFor);
});

test('the first rule that fits decides, and what none is for goes as it is', () => {
  const [one, other] = [ruleOf({ events: ['page_*'], send: false }), ruleOf({ events: ['page_view', 'purchase'] })];
  expect(ruleFor([one, other], ['page_view'])).toBe(one);
  expect(ruleFor([one, other], ['purchase'])).toBe(other);
  expect(ruleFor([one, other], ['sign_up'])).toBeNull();
  expect(ruleFor([], ['sign_up'])).toBeNull();
});

/** An event of somebody with an address, and properties. */
function entryWith(properties: Record<string, unknown>): EventEntry {
  const known = { ...NO_IDENTIFIERS, email: 'e'.repeat(64), phone: 'f'.repeat(64) };
  const person = { person_id: 'p', identifiers: known };
  return entryOf({ properties, value: 12, currency: 'EUR', order_id: 'o-1', identifiers: known, person });
}

function dropped(properties: Record<string, unknown>, drop_properties: string[]) {
  const entry = entryWith(properties);
  const before = structuredClone({ entry, properties });
  const ruled = applyRule(ruleOf({ drop_properties }), { entry, properties });
  expect({ entry, properties }).toEqual(before);
  return ruled;
}

test('properties are dropped by name, at every depth, through lists, and by patterns', () => {
  const items = [
    { id: 1, price: 2 },
    { id: 3, price: 4, cost: { net: 1 } },
  ];
  const given = { coupon: 'x', utm_source: 'a', utm_medium: 'b', user: { Plan: 'pro', id: 7 }, items };
  const ruled = dropped(given, ['coupon', 'utm_*', 'user.plan', 'items.price', 'items.cost.*', 'absent', 'coupon.x']);
  expect(ruled.properties).toEqual({ user: { id: 7 }, items: [{ id: 1 }, { id: 3, cost: {} }] });
  expect(ruled.dropped).toEqual([
    ...['coupon', 'utm_source', 'utm_medium', 'user.Plan', 'items.price', 'items.cost.net'],
  ]);
});

test('names that every object has are names of properties like any other', () => {
  const given = JSON.parse('{"__proto__":{"a":1},"constructor":2,"b":3}') as Record<string, unknown>;
  const ruled = dropped(given, ['constructor', '__proto__.a']);
  expect(JSON.stringify(ruled.properties)).toBe('{"__proto__":{},"b":3}');
});

test('recognised properties are dropped wherever they stand: as fields, as hashes, and of what is known of the person', () => {
  const { entry, properties, dropped: names } = dropped({ value: 12, order_id: 'o-1' }, ['value', 'email', 'city']);
  expect(properties).toEqual({ order_id: 'o-1' });
  expect(entry.event).toMatchObject({ value: null, currency: 'EUR', order_id: 'o-1' });
  expect([entry.event.identifiers?.email, entry.person?.identifiers?.email]).toEqual([null, null]);
  expect(entry.person?.identifiers?.phone).toBe('f'.repeat(64));
  expect(names).toEqual(expect.arrayContaining(['value', 'email']));
  expect(names).not.toContain('phone');
});

test('an event that a rule holds back is skipped, and counted so; the others go, renamed and without what is dropped', async () => {
  const ports = portsOf(() => answered(200, ''));
  const entries = [
    { ...entryOf({ event_id: 'e1', event: 'page_view' }) },
    { ...entryOf({ event_id: 'e2', event: 'quiz_done', properties: { score: 7, answers: [1, 2] } }) },
  ];
  const rules = [
    ruleOf({ events: ['page_view'], send: false }),
    ruleOf({ events: ['quiz_*'], rename_to: 'generate_lead', drop_properties: ['answers'] }),
  ];
  const outcomes = await deliver(webhookJob({ entries, rules }), ports);
  expect(outcomes.map(({ outcome, reason }) => `${outcome} ${reason}`.trim())).toEqual(['skipped rule', 'delivered']);
  const [body] = ports.requests.map((request) => request.body);
  expect(JSON.parse(body ?? '')).toMatchObject({
    data: { event_id: 'e2', event: 'generate_lead', properties: { score: 7 } },
  });
  expect(body).not.toContain('answers');
});

test('the platform maps the new name as its own, which goes before what the old one stood for', async () => {
  const ports = portsOf(() => answered(200, { events_received: 1 }));
  const entries = [entryOf({ event: 'sign_up' })];
  const rules = [ruleOf({ rename_to: 'purchase_done' })];
  const settings = { ...metaJob().settings, event_names: 'purchase_done=Lead' };
  await deliver(metaJob({ entries, rules, settings }), ports);
  expect(ports.requests[0]?.body).toContain('"event_name":"Lead"');
});

test('what a rule drops decides nothing of consent: a refusal counts though its property is not sent', () => {
  const entry = entryOf({ properties: { consent: false } });
  const rules = [ruleOf({ drop_properties: ['consent'] })];
  const target = { id: 'meta', settings: { pixel_id: '1' }, rules };
  expect(decide({ ...target, adapter: meta as never }, siteOf(), entry, NOW_MS)).toMatchObject({
    ...{ kind: 'skip', reason: 'consent_denied' },
  });
  expect(decide({ ...target, adapter: webhook as never }, siteOf(), entry, NOW_MS)).toMatchObject({
    ...{ kind: 'send', dropped: ['consent'] },
  });
});

test('a flat name that has dots is dropped by the path that reads the same, at every depth', () => {
  const given = { 'user.email_domain': 'x', user: { email_domain: 'x', 'a.b': 1, id: 7 }, 'page.a.b': 2, 'other.x': 3 };
  const ruled = dropped(given, ['user.email_domain', '*.a.b']);
  expect(ruled.properties).toEqual({ user: { id: 7 }, 'other.x': 3 });
  expect(ruled.dropped).toEqual(['user.email_domain', 'user.a.b', 'page.a.b']);
});

const mappedBy = (adapter: unknown, settings: object, drop_properties: string[], entry: EventEntry): unknown => {
  const target = { adapter, id: 'webhook', settings, rules: [ruleOf({ drop_properties })] };
  return prepare(target as never, siteOf(), entry, NOW_MS);
};

test('an event of somebody else than the browser is known of gets nothing of that person, though its address is dropped', () => {
  const person = personOf({ email: 'a'.repeat(64), phone: '1'.repeat(64), external_id: '2'.repeat(64) });
  const settings = { include_client_ip: 'no' };
  const stranger = entryOf({ identifiers: { email: 'b'.repeat(64) }, person });
  expect(mappedBy(webhook, settings, ['email'], stranger)).toHaveProperty('form.data.identifiers', {});
  const same = entryOf({ identifiers: { email: 'a'.repeat(64) }, person });
  const form = JSON.stringify(mappedBy(webhook, settings, ['email'], same));
  expect([form.includes('a'.repeat(64)), form.includes('1'.repeat(64)), form.includes('2'.repeat(64))]).toEqual([
    ...[false, true, true],
  ]);
});

test.each([[['$*']], [['$lib']], [['$event_id']]])(
  'without %j an event is still told from its double by the pixel, and known to be the browser’s',
  (drop) => {
    const hit = entryOf({ properties: { $lib: 'meta_pixel', $event_id: 'pix-1' } });
    expect(mappedBy(meta, { pixel_id: '1', event_source_url: 'https://shop.example/' }, drop, hit)).toMatchObject({
      form: { event_id: 'pix-1' },
    });
    const sent = entryOf({ caller: 'server', properties: { $lib: 'ga4' } });
    expect(mappedBy(ga4, { measurement_id: 'G-AAAA1111', route: 'browser' }, drop, sent)).toEqual({
      ...{ kind: 'skip', reason: 'routed_in_browser' },
    });
  },
);

test('a pattern of many stars is refused, as each is looked for in every event', () => {
  const rules = [ruleOf({ events: ['a*b*c*'], drop_properties: ['*a*b*c*'] })];
  expect(ruleProblems(rules).map(({ code, field }) => [code, field])).toEqual([
    ['name_malformed', 'rules[0].drop_properties'],
  ]);
});
