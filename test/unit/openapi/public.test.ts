import fc from 'fast-check';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readInventory } from '#pipelines/intake/inventory.ts';
import { ENGAGE_EXAMPLES } from '#services/control/engage/routes.ts';
import { publicDocument } from '#services/edge/openapi.ts';
import { eventShape, inventoryBody } from '#services/edge/openapi_shapes.ts';
import { FLAGS_PATHS, posthog } from '#services/edge/protocols/posthog.ts';
import { segment } from '#services/edge/protocols/segment.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { cases } from '#test/harness/environment.ts';
import { startEdge, type TestEdge } from '#test/unit/edge/edge.ts';
import { engageItem } from '#test/unit/engage/ready.ts';
import { refusal } from '#test/unit/intake/context.ts';
import { put } from '#test/unit/settings/filled_table.ts';
import { destination } from '#test/unit/settings/samples.ts';

interface Operation {
  operationId: string;
  requestBody?: { content: Record<string, { example?: object | string }> };
  responses: Record<string, { description: string }>;
}

const document = publicDocument() as {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
};

describe('the public document', () => {
  it('is OpenAPI 3.1 and plain JSON, with the routes of the specification', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
    expect(Object.keys(document.paths)).toEqual([
      '/v1/ingest',
      '/v1/inventory',
      '/v1/config',
      '/v1/health',
      '/v1/tls-check',
      '/svc.min.js',
      '/v1/svc.min.js',
      '/svc.mjs',
      '/v1/svc.mjs',
      '/svc-engage.min.js',
      '/v1/svc-engage.min.js',
      '/svc-vitals.min.js',
      '/v1/svc-vitals.min.js',
      '/svc-routes.min.js',
      '/v1/svc-routes.min.js',
      '/svc-definitions.min.js',
      '/v1/svc-definitions.min.js',
      '/svc-inventory.min.js',
      '/v1/svc-inventory.min.js',
      '/svc-vendors.min.js',
      '/v1/svc-vendors.min.js',
      '/svc-offline.min.js',
      '/v1/svc-offline.min.js',
      '/svc-tcf.min.js',
      '/v1/svc-tcf.min.js',
      '/svc-pick.min.js',
      '/v1/svc-pick.min.js',
      '/v1/svc/{digest}/{name}',
      '/v1/visitor',
      '/v1/script-status',
      '/sg.js',
      '/sx.js',
      '/sp.js',
      '/tt.js',
      '/v1/engage',
      '/v1/surveys/respond',
      '/v1/promos/track',
      '/v1/form',
      ...segment.paths,
      ...posthog.paths,
      ...FLAGS_PATHS,
      '/array/{key}/config.js',
      '/array/{key}/config',
      '/a/c',
      '/s/p',
      '/t/e',
      '/g/collect',
      '/j/collect',
      '/mp/collect',
      '/debug/mp/collect',
    ]);
    const ids = Object.values(document.paths).flatMap((item) => Object.values(item).map((one) => one.operationId));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('says what each route may answer', () =>
    checkAll(
      [
        ['post', '/v1/ingest', ['200', '400', '401', '403', '413', '415', '429', '503']],
        ['post', '/v1/inventory', ['200', '400', '401', '403', '413', '415', '503']],
        ['get', '/v1/config', ['200', '304', '400', '401', '403', '404']],
        ['get', '/v1/health', ['200', '503']],
        ['get', '/v1/tls-check', ['200', '400', '404']],
        ['get', '/svc.min.js', ['200', '304', '400', '503']],
        ['get', '/v1/svc/{digest}/{name}', ['200', '304', '400', '404']],
        ['get', '/v1/script-status', ['200', '400']],
        ['post', '/v1/engage', ['200', '204', '400', '401', '403', '413', '415', '429', '503']],
        ['post', '/v1/surveys/respond', ['200', '400', '401', '403', '404', '413', '429', '503']],
        ['post', '/v1/promos/track', ['200', '400', '404']],
        ['post', '/v1/form', ['200', '303', '400', '404']],
        ['post', '/v1/batch', ['200', '400', '401', '402', '403', '429', '503']],
        ['post', '/batch/', ['200', '400', '401', '403', '413', '429', '503']],
        ['get', '/g/collect', ['204', '400', '401', '403', '413', '429', '503']],
        ['post', '/g/collect', ['204', '400', '401', '403', '413', '429', '503']],
        ['post', '/mp/collect', ['204', '400', '401', '403', '413', '429', '503']],
        ['post', '/debug/mp/collect', ['200', '400', '401', '403', '413', '429', '503']],
        ['post', '/flags/', ['200', '400', '401', '403', '413', '503']],
      ],
      ([method, path, statuses]) => {
        expect(Object.keys(document.paths[path]?.[method]?.responses ?? {})).toEqual(expect.arrayContaining(statuses));
      },
    ));
});

const odd = fc.oneof(
  fc.constantFrom(null, 1, true, '', ' ', '\u0007', 'x'.repeat(201)),
  fc.constant([]),
  fc.constant({}),
);
const text = fc.oneof({ weight: 3, arbitrary: fc.string({ maxLength: 220 }) }, { weight: 1, arbitrary: odd });
const source = fc.constantFrom('website', 'physical_store', 'nowhere', 1, undefined);

describe('a schema never promises what the intake refuses:', () => {
  it('an event that fits is taken', () => {
    const events = fc.record(
      {
        event: fc.oneof(text, fc.constant('purchase')),
        uuid: text,
        distinct_id: text,
        properties: fc.oneof(
          odd,
          fc.record({ $action_source: source, value: fc.integer(), plan: text }, { requiredKeys: [] }),
        ),
      },
      { requiredKeys: ['event'] },
    );
    let fitted = 0;
    fc.assert(
      fc.property(events, (event) => {
        const sent: unknown = JSON.parse(JSON.stringify(event));
        if (!Value.Check(eventShape, sent)) return;
        fitted++;
        expect(refusal(sent)).toBeNull();
      }),
      { numRuns: cases(3000) },
    );
    expect(fitted).toBeGreaterThan(100);
  });

  it('an inventory fits exactly when it is taken', () => {
    const element = fc.record(
      { type: text, selector: text, text, href: fc.string(), event_hint: fc.string({ maxLength: 220 }) },
      { requiredKeys: ['type', 'selector'] },
    );
    const inventories = fc.record(
      { page: text, url: text, title: text, elements: fc.array(element, { maxLength: 2 }) },
      { requiredKeys: ['page', 'url', 'elements'] },
    );
    fc.assert(
      fc.property(inventories, (inventory) => {
        expect(Value.Check(inventoryBody, inventory)).toBe(readInventory(inventory, false, []).ok);
      }),
      { numRuns: cases(3000) },
    );
  });
});

describe('the examples of the public document', () => {
  let edge: TestEdge;
  beforeAll(async () => {
    edge = await startEdge({ trustedProxies: ['127.0.0.1'] });
    for (const [name, settings] of Object.entries({
      ga4: { measurement_id: 'G-SHOP123' },
      meta: { pixel_id: '123456789012345' },
      tiktok: { pixel_code: 'CSHOP1234567890ABCDE' },
    })) {
      put(edge.table, { destination: destination({ name, settings: settings as Record<string, string> }) });
    }
    put(edge.table, { engage: engageItem('survey', ENGAGE_EXAMPLES['createSurvey'] ?? {}) });
    put(edge.table, { engage: engageItem('promo', ENGAGE_EXAMPLES['createPromo'] ?? {}) });
    put(edge.table, { engage: engageItem('form', ENGAGE_EXAMPLES['createForm'] ?? {}) });
  });
  afterAll(() => edge.close());

  const posted = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { requestBody }]) => (method === 'post' ? [{ path, requestBody }] : [])),
  );

  it('are taken by an edge', () =>
    checkAll(posted, async ({ path, requestBody }) => {
      const [media] = Object.values(requestBody?.content ?? {});
      const sent = media?.example;
      const text = typeof sent === 'string' ? sent : JSON.stringify(sent);
      const example = text.replaceAll(/svc_[sp]k_YOUR_KEY/g, edge.serverKey);
      const answer = await fetch(`${edge.url}${path}?key=${edge.serverKey}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-host': 'shop.example' },
        body: example,
      });
      expect([path, [200, 204].includes(answer.status), await answer.text()]).toEqual([
        path,
        true,
        expect.not.stringContaining('rejected'),
      ]);
    }));

  it('of a plain form is taken by an edge as browsers send it', async () => {
    const { content } = document.paths['/v1/form']?.['post']?.requestBody ?? {};
    const sent = content?.['application/x-www-form-urlencoded']?.example as Record<string, string>;
    const before = edge.records.length;
    const answer = await fetch(`${edge.url}/v1/form?key=${edge.browserKey}`, {
      method: 'POST',
      headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' },
      // The same words a second time would pass for spam.
      body: new URLSearchParams({ ...sent, message: 'Are there chairs of oak?' }),
      redirect: 'manual',
    });
    expect([answer.status, edge.records.length - before]).toEqual([303, 1]);
  });
});
