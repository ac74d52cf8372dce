import { expect, test } from 'vitest';
import { parseKeyRing, sealSecret } from '#infra/secrets/seal.ts';
import type { HttpRequest } from '#pipelines/delivery/contract.ts';
import { testEntry } from '#pipelines/delivery/deliver.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { type Site, TAG_DEFAULTS } from '#schemas/setting.ts';
import { createTestSender } from '#services/control/destinations/delivery.ts';

const NOW_MS = Date.UTC(2027, 0, 1);
const ring = parseKeyRing(`k1:${Buffer.alloc(32, 7).toString('base64')}`);
const place = { siteId: 'shop', destination: 'meta', field: 'access_token' };
const SITE: Site = {
  ...{ site_id: 'shop', account_id: 'acme', name: 'shop', mode: 'online', business_category: 'other' },
  ...{
    default_country: null,
    identify_events: null,
    server_only_events: [],
    clarity_project_id: null,
    gtm_container_id: null,
    domains: [],
  },
  ...{ loader_prefix: null, tag: TAG_DEFAULTS, block_rules: [], event_definitions: [] },
};

async function tryMeta(
  status: number,
  body: string,
  settings: Record<string, string>,
  baseUrls: Record<string, string | null> = { meta: null },
) {
  const sent: HttpRequest[] = [];
  const egress = {
    async send(request: HttpRequest) {
      sent.push(request);
      return { kind: 'answered', status, headers: {}, body } as const;
    },
  };
  const adapter = DESTINATIONS.find(({ name }) => name === 'meta');
  if (adapter === undefined) throw new Error('no Meta');
  const secrets = { access_token: sealSecret(ring, place, 'EAAB-secret-token', (bytes) => new Uint8Array(bytes)) };
  const destination = { site_id: 'shop', name: 'meta', enabled: false, settings, secrets };
  const entry = testEntry({ siteId: 'shop', eventId: 'test-1', name: 'page_view', nowMs: NOW_MS });
  const outcome = await createTestSender({ ring, egress, baseUrls, nowMs: () => NOW_MS, monotonicMs: () => 0 })({
    ...{ adapter, site: SITE, destination, entry },
  });
  return { outcome, sent };
}

test('it is the very request that delivery makes, with the code by which the platform knows it as a test', async () => {
  const { outcome, sent } = await tryMeta(200, '{"events_received":1}', {
    pixel_id: '12345',
    test_event_code: 'TEST1',
  });
  expect(outcome).toMatchObject({ outcome: 'delivered', answer: { status: 200 } });
  expect(sent.map(({ url }) => new URL(url).host)).toEqual(['graph.facebook.com']);
  const body = JSON.parse(sent[0]?.body ?? '{}');
  expect(body).toMatchObject({ test_event_code: 'TEST1', data: [{ event_name: 'PageView', event_id: 'test-1' }] });
});

test('what the platform refuses is said, without the secret; settings that are missing are not sent at all', async () => {
  const refused = '{"error":{"message":"bad token EAAB-secret-token","type":"OAuthException","code":190}}';
  const { outcome, sent } = await tryMeta(401, refused, { pixel_id: '12345' });
  expect(outcome.outcome).toBe('paused');
  expect(sent.length).toBe(1);
  expect(JSON.stringify(outcome)).not.toContain('secret-token');
  const missing = await tryMeta(200, '', {});
  expect(missing.outcome).toMatchObject({ outcome: 'paused', reason: 'settings_invalid', detail: 'pixel_id' });
  expect(missing.sent).toEqual([]);
});

test('it goes where the installation has events of the platform go, whatever the site says', async () => {
  const settings = { pixel_id: '12345', base_url: 'https://gateway.shop.example' };
  const { sent } = await tryMeta(200, '{"events_received":1}', settings, { meta: 'http://127.0.0.1:9/stand-in' });
  expect(sent.map(({ url, trusted }) => [url, trusted])).toEqual([
    ['http://127.0.0.1:9/stand-in/v25.0/12345/events', true],
  ]);
  const { sent: own } = await tryMeta(200, '{"events_received":1}', settings);
  expect(own.map(({ url, trusted }) => [new URL(url).host, trusted])).toEqual([['gateway.shop.example', false]]);
});
