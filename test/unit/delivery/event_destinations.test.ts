import { expect, test } from 'vitest';
import { prepare } from '#pipelines/delivery/deliver.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { excludesDestination } from '#pipelines/events/vocabulary.ts';
import { mapSegmentCall } from '#pipelines/intake/compat/segment.ts';
import { RECEIVED_AT_MS, server, siteWith, take } from '#test/unit/intake/context.ts';

test.each<[unknown, string, boolean]>([
  [undefined, 'meta', false],
  [{}, 'meta', false],
  [{ meta: false }, 'meta', true],
  [{ meta: false }, 'tiktok', false],
  [{ all: false }, 'meta', true],
  [{ all: false, meta: true }, 'meta', false],
  [{ all: false, meta: true }, 'tiktok', true],
  [{ all: true, meta: 'no' }, 'meta', true],
  ['{"all":false}', 'webhook', true],
  [false, 'meta', true],
  [true, 'meta', false],
  [{ meta: 'redacted' }, 'meta', true],
  [{ meta: false }, 'meta-eu', true],
  [{ meta: false, 'meta-eu': true }, 'meta-eu', false],
  [{ 'meta-eu': false }, 'meta', false],
  [{ all: false, meta: true }, 'meta-eu', false],
  [['meta'], 'meta', true],
])('of %j a destination %s is left out: %s', ($destinations, destination, isKept) => {
  expect(excludesDestination({ $destinations }, destination, kindOfDestination(destination))).toBe(isKept);
});

/** The destinations for which a call of Segment’s, as it was taken, is skipped as not meant for them. */
function leftOut(integrations: unknown): string[] {
  const call = { messageId: 'm', userId: 'u', event: 'Order Completed', properties: { revenue: 5 }, integrations };
  const mapped = mapSegmentCall(call, 'track', { caller: 'server', receivedAtMs: RECEIVED_AT_MS, sentAtMs: null });
  if (!mapped.ok) throw new Error(mapped.code);
  const entry = { coordinate: null, person: null, event: take(mapped.event, server()) };
  return DESTINATIONS.filter((adapter) => {
    const result = prepare({ adapter, id: adapter.name, settings: {}, rules: [] }, siteWith(), entry, RECEIVED_AT_MS);
    return result.kind === 'skip' && result.reason === 'not_in_destinations';
  }).map(({ name }) => name);
}

const EVERY = DESTINATIONS.map(({ name }) => name);
const but = (...names: string[]): string[] => EVERY.filter((name) => !names.includes(name));

test.each<[unknown, string[]]>([
  [undefined, []],
  ['none', EVERY],
  [{ All: true }, []],
  [{ All: false }, EVERY],
  [{ All: 'false' }, EVERY],
  [{ All: false, 'Segment.io': true }, EVERY],
  [{ All: false, Webhooks: true }, but('webhook')],
  [{ All: false, 'Google Analytics 4': { sessionId: '1' }, PostHog: true }, but('ga4', 'posthog')],
  [{ All: true, 'Facebook Conversions API': false }, ['meta']],
  [{ 'Facebook Pixel': false, 'Facebook Conversions API (Actions)': true }, ['meta']],
  [{ 'TikTok Conversions': false, 'LinkedIn Conversions API': false }, ['tiktok', 'linkedin']],
  [{ 'Google Ads': false }, ['google']],
  [{ 'Google Adwords Enhanced Conversions': false }, ['google']],
  [{ 'Google Ads (Gtag)': false, GA4: null }, ['google']],
  [{ 'Google Analytics': false, 'Google Tag Manager': false }, ['ga4']],
  [{ 'Pinterest Tag': false, 'Snap Conversions API': false, Reddit: false }, ['snapchat', 'pinterest', 'reddit']],
  [{ FACEBOOK_CONVERSIONS: false, SNAPCHAT_CONVERSION: false }, ['meta', 'snapchat']],
  [{ Amplitude: false, Snapshot: false, Metarouter: false, constructor: false }, []],
])('integrations %j keep a call from %j', (integrations, destinations) => {
  expect(leftOut(integrations)).toEqual(destinations);
});

test('what a batch says holds for its calls, unless a call says otherwise', () => {
  const arrival = { caller: 'server', receivedAtMs: RECEIVED_AT_MS, sentAtMs: null } as const;
  const said = (integrations?: object): unknown =>
    mapSegmentCall({ messageId: 'm', event: 'E', integrations }, 'track', arrival, { all: false, meta: true });
  const flags = (value: object): object => ({ ok: true, event: { properties: { $destinations: value } } });
  expect(said()).toMatchObject(flags({ all: false, meta: true }));
  expect(said({ Facebook: false })).toMatchObject(flags({ all: false, meta: false }));
});
