import { describe, expect, it } from 'vitest';
import { createConfigAnswers, siteConfig } from '#pipelines/settings/site_config.ts';
import { PAGE_DEFAULTS, type TagSettings } from '#schemas/setting.ts';
import { engageItem } from '#test/unit/engage/ready.ts';
import { SURVEY } from '#test/unit/engage/samples.ts';
import { filledTable, put } from './filled_table.ts';
import { account, destination, domainProof, site } from './samples.ts';

const DEFINITION = {
  id: 'buy',
  name: 'purchase',
  trigger: 'click',
  selector: '',
  url_pattern: '',
  text_contains: '',
  properties: {},
  conversion_event: '',
  destinations: { meta: false },
  value_selector: '',
  field_selectors: {},
  enabled: false,
};
const TAG = {
  engage: false,
  web_vitals: false,
  consent: { required: false, queue: true },
  respect_dnt: true,
  respect_gpc: true,
  inventory: true,
  hash_routes: false,
  loader: null,
  event_names: {},
  parts: [],
};
const ROUTES = [{ pixel_id: '67890', url_pattern: '/fr/*' }];
const SECRET = 'k1.AAAAAAAAAAAAAAAA.SEALED';

function fullTable() {
  const secrets = { access_token: SECRET, api_secret: SECRET };
  return filledTable(
    { account: account() },
    {
      site: site({
        mode: 'offline',
        business_category: 'travel',
        clarity_project_id: 'clar1ty',
        gtm_container_id: 'GTM-ABC1234',
        domains: ['t.shop.example'],
        event_definitions: [JSON.stringify(DEFINITION)],
      }),
    },
    { domain_proof: domainProof('t.shop.example') },
    {
      destination: destination({
        settings: { pixel_id: '12345', route_pixels: JSON.stringify(ROUTES), test_event_code: 'TEST1' },
        secrets,
      }),
    },
    { destination: destination({ name: 'tiktok', settings: { pixel_code: 'C0DE' }, secrets }) },
    {
      destination: destination({
        name: 'ga4',
        settings: { measurement_id: 'G-ABC123', route: 'browser' },
        secrets,
      }),
    },
  );
}

describe('the public configuration', () => {
  it('has every field of the contract and nothing else', () => {
    expect(siteConfig(fullTable(), 'shop')).toEqual({
      mode: 'offline',
      business_category: 'travel',
      clarity: { project_id: 'clar1ty' },
      facebook: { pixel_id: '12345', route_pixels: ROUTES },
      tiktok: { pixel_code: 'C0DE' },
      ga4: { measurement_id: 'G-ABC123' },
      gtm: { container_id: 'GTM-ABC1234' },
      custom_loader: true,
      events: [DEFINITION],
      tag: {
        ...TAG,
        loader: { base: 'https://t.shop.example', prefix: '' },
        parts: ['definitions', 'offline'],
      },
    });
  });

  it('of a bare site is empty, not absent', () => {
    expect(siteConfig(filledTable({ site: site() }), 'shop')).toEqual({
      mode: 'online',
      business_category: 'other',
      clarity: null,
      facebook: null,
      tiktok: null,
      ga4: null,
      gtm: null,
      custom_loader: false,
      events: [],
      tag: TAG,
    });
  });

  it('says by which names the pixels on the page are told, as the service tells the platforms', () => {
    const names = { event_names: 'Quiz Done=Lead,cta=Contact' };
    const of = (name: string, settings: Record<string, string>) => ({
      destination: destination({ name, settings: { ...settings, ...names } }),
    });
    const chosen = { quizdone: 'Lead', cta: 'Contact' };
    const table = filledTable(
      { site: site() },
      of('meta', { pixel_id: '12345' }),
      of('tiktok', { pixel_code: 'C0DE' }),
      of('ga4', { measurement_id: 'G-1', route: 'browser' }),
      of('reddit', { pixel_id: 't2_x' }),
    );
    expect(siteConfig(table, 'shop')?.tag.event_names).toEqual({ meta: chosen, tiktok: chosen, ga4: chosen });
    put(table, of('ga4', { measurement_id: 'G-1' }));
    put(table, of('meta', {}));
    put(table, {
      destination: destination({ name: 'tiktok', enabled: false, settings: { pixel_code: 'C', ...names } }),
    });
    expect(siteConfig(table, 'shop')?.tag.event_names).toEqual({});
  });

  it('says how the tag behaves', () => {
    const tag: TagSettings = {
      web_vitals: true,
      consent_required: true,
      consent_queue: true,
      respect_dnt: false,
      respect_gpc: false,
      inventory: false,
    };
    const table = filledTable(
      { site: site({ tag, pages: { ...PAGE_DEFAULTS, hash_routes: true } }) },
      { engage: engageItem('survey', SURVEY) },
    );
    expect(siteConfig(table, 'shop')?.tag).toEqual({
      engage: true,
      web_vitals: true,
      consent: { required: true, queue: true },
      respect_dnt: false,
      respect_gpc: false,
      inventory: false,
      hash_routes: true,
      loader: null,
      event_names: {},
      parts: ['engage', 'vitals', 'routes'],
    });
  });

  it('has the part for platforms loaded where there is one, or a verified domain', () => {
    const parts = (...more: Parameters<typeof filledTable>) => siteConfig(filledTable(...more), 'shop')?.tag.parts;
    const pixel = destination({ name: 'tiktok', settings: { pixel_code: 'C0DE' } });
    expect(parts({ site: site() }, { destination: pixel })).toEqual(['vendors']);
    const domains = ['t.shop.example'];
    expect(parts({ site: site({ domains }) }, { domain_proof: domainProof('t.shop.example') })).toEqual(['vendors']);
  });

  it('has nothing to show where every survey, promo and form is disabled', () => {
    const disabled = engageItem('survey', { ...SURVEY, enabled: false });
    expect(siteConfig(filledTable({ site: site() }, { engage: disabled }), 'shop')?.tag.engage).toBe(false);
  });

  it('of an unknown site does not exist', () => {
    expect(siteConfig(fullTable(), 'other')).toBeUndefined();
    expect(createConfigAnswers(fullTable())('other')).toBeUndefined();
  });

  it('holds no secret, sealed or not, nor another setting', () => {
    const body = createConfigAnswers(fullTable())('shop')?.body ?? '';
    for (const hidden of [SECRET, 'access_token', 'api_secret', 'TEST1', 'acme']) expect(body).not.toContain(hidden);
  });

  it.each([
    ['switched off', { enabled: false, settings: { measurement_id: 'G-1', route: 'browser' } }, null],
    ['routed server-side', { settings: { measurement_id: 'G-1', route: 'server' } }, null],
    ['with no route chosen', { settings: { measurement_id: 'G-1' } }, null],
    ['without an id', { settings: { route: 'browser' } }, null],
    ['routed in the browser', { settings: { measurement_id: 'G-1', route: 'browser' } }, { measurement_id: 'G-1' }],
  ])('shows ga4 %s as it is', (_name, changes, expected) => {
    const table = filledTable({ site: site() }, { destination: destination({ name: 'ga4', ...changes }) });
    expect(siteConfig(table, 'shop')?.ga4).toEqual(expected);
  });

  it.each([
    [{ enabled: false, settings: { pixel_id: '12345' } }, null],
    [{ settings: {} }, null],
    [{ settings: { pixel_id: '12345' } }, { pixel_id: '12345', route_pixels: [] }],
    [{ settings: { pixel_id: '12345', route_pixels: '{' } }, { pixel_id: '12345', route_pixels: [] }],
    [{ settings: { pixel_id: '12345', route_pixels: '[{"pixel_id":"x"}]' } }, { pixel_id: '12345', route_pixels: [] }],
  ])('shows the pixel of meta %o', (changes, expected) => {
    const table = filledTable({ site: site() }, { destination: destination(changes) });
    expect(siteConfig(table, 'shop')?.facebook).toEqual(expected);
  });

  it('has no custom loader on a domain that another site owns', () => {
    const domains = ['t.shop.example'];
    const table = filledTable({ site: site({ site_id: 'a', domains }) }, { site: site({ site_id: 'b', domains }) });
    for (const site_id of ['a', 'b']) put(table, { domain_proof: domainProof('t.shop.example', { site_id }) });
    expect([siteConfig(table, 'a')?.custom_loader, siteConfig(table, 'b')?.custom_loader]).toEqual([true, false]);
  });

  it('has a custom loader on the first domain that is verified, and none before', () => {
    const table = filledTable({ site: site({ domains: ['a.example', 'b.example'] }) });
    expect(siteConfig(table, 'shop')?.custom_loader).toBe(false);
    put(table, { domain_proof: domainProof('b.example') });
    expect(siteConfig(table, 'shop')?.tag.loader).toEqual({ base: 'https://b.example', prefix: '' });
    put(table, { site: site({ domains: ['a.example', 'b.example'], loader_prefix: 'k3m9' }) });
    expect(siteConfig(table, 'shop')?.tag.loader).toEqual({ base: 'https://b.example', prefix: '/k3m9' });
  });

  it('leaves out a stored definition that cannot be read, and only that', () => {
    const table = filledTable({ site: site({ event_definitions: ['{', JSON.stringify(DEFINITION), '{}'] }) });
    expect(siteConfig(table, 'shop')?.events).toEqual([DEFINITION]);
  });
});

describe('the answer', () => {
  it('has an ETag of its content, the same in every process', () => {
    const first = createConfigAnswers(fullTable())('shop');
    const second = createConfigAnswers(fullTable())('shop');
    expect(first?.etag).toMatch(/^"[A-Za-z0-9_-]{27}"$/);
    expect(second).toEqual(first);
  });

  it('is made once, until a setting changes', () => {
    const table = fullTable();
    const answer = createConfigAnswers(table);
    const before = answer('shop');
    expect(answer('shop')).toBe(before);
    put(table, { site: site({ mode: 'online' }) });
    expect(answer('shop')?.body).toContain('"mode":"online"');
    expect(answer('shop')?.etag).not.toBe(before?.etag);
    table.apply('site/shop', null);
    expect(answer('shop')).toBeUndefined();
  });

  it('keeps its ETag when something else changes', () => {
    const table = fullTable();
    const answer = createConfigAnswers(table);
    const before = answer('shop');
    put(table, { account: account({ monthly_allowance: 5 }) });
    expect(answer('shop')).toEqual(before);
  });
});
