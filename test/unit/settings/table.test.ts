import { describe, expect, it } from 'vitest';
import { createSettingsTable, type SettingsTable } from '#pipelines/settings/table.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { filledTable, put } from './filled_table.ts';
import { account, apiKey, destination, domainProof, setting, site } from './samples.ts';

const idsOf = (table: SettingsTable, measurementId: string) =>
  table.sitesByMeasurementId(measurementId).map(({ site_id }) => site_id);
const ga4 = (siteId: string, measurementId: string) =>
  destination({ site_id: siteId, name: 'ga4', settings: { measurement_id: measurementId } });

describe('the settings table', () => {
  it('finds every kind of fact by its id', () => {
    const table = filledTable(
      { account: account() },
      { site: site() },
      { key: apiKey() },
      { destination: destination() },
    );
    expect(table.account('acme')).toEqual(account());
    expect(table.site('shop')).toEqual(site());
    expect(table.keyByHash('a'.repeat(64))).toEqual(apiKey());
    expect(table.destination('shop', 'meta')).toEqual(destination());
    expect(table.accountOfSite('shop')).toEqual(account());
  });

  it('answers undefined for what it does not hold, prototype names included', () => {
    const table = filledTable({ site: site() });
    expect(table.account('acme')).toBeUndefined();
    expect(table.accountOfSite('shop')).toBeUndefined();
    expect(table.accountOfSite('other')).toBeUndefined();
    expect(table.site('constructor')).toBeUndefined();
    expect(table.destination('shop', 'meta')).toBeUndefined();
    expect(table.siteServedAt('shop.example')).toBeUndefined();
    expect(idsOf(table, 'G-1')).toEqual([]);
  });

  it('holds the surveys, promos and forms of each site, and another list after each change', () => {
    const item = { site_id: 'shop', kind: 'form', id: 'quote', version: 1, definition: '{}' } as const;
    const table = filledTable({ engage: item }, { engage: { ...item, kind: 'promo' } });
    const before = table.engageItems('shop');
    expect(before.map(({ kind }) => kind)).toEqual(['form', 'promo']);
    put(table, { engage: { ...item, version: 2 } });
    expect(table.engageItems('shop').map(({ version }) => version)).toEqual([2, 1]);
    table.apply('engage/shop/form/quote', null);
    expect(table.engageItems('shop').map(({ kind }) => kind)).toEqual(['promo']);
    expect(before).toHaveLength(2);
    expect(table.engageItems('other')).toEqual([]);
  });

  it('knows the keys of a site, and no longer those that are gone or another’s', () => {
    const key_hash = 'b'.repeat(64);
    const table = filledTable({ key: apiKey() }, { key: apiKey({ key_hash }) });
    expect([...table.keysOfSite('shop').keys()]).toEqual([apiKey().key_hash, key_hash]);
    put(table, { key: apiKey({ key_hash, site_id: 'other' }) });
    table.apply(`key/${apiKey().key_hash}`, null);
    expect([...table.keysOfSite('shop').keys()]).toEqual([]);
    expect([...table.keysOfSite('other').keys()]).toEqual([key_hash]);
    expect(table.keysOfSite('nobody').size).toBe(0);
  });

  it('finds the one site whose keys begin so, none where there are two, and it no longer when its last is gone', () => {
    const [second, third] = ['b'.repeat(64), 'c'.repeat(64)];
    const sites = [{ site: site() }, { site: site({ site_id: 'other' }) }];
    const table = filledTable(...sites, { key: apiKey() }, { key: apiKey({ key_hash: second }) });
    const found = (prefix = 'svc_pk_AbCd') => table.siteByKeyPrefix(prefix)?.site_id;
    expect([found('svc_pk_AbCe'), found('')]).toEqual([undefined, undefined]);
    put(table, { key: apiKey({ revoked_at: 1 }) });
    expect(found()).toBe('shop');
    put(table, { key: apiKey({ key_hash: third, site_id: 'other' }) });
    expect(found()).toBeUndefined();
    table.apply(`key/${third}`, null);
    table.apply(`key/${second}`, null);
    expect(found()).toBe('shop');
    table.apply(`key/${apiKey().key_hash}`, null);
    expect(found()).toBeUndefined();
  });

  it('follows a site to another account', () => {
    const table = filledTable({ account: account() }, { account: account({ account_id: 'other' }) }, { site: site() });
    put(table, { site: site({ account_id: 'other' }) });
    expect(table.accountOfSite('shop')?.account_id).toBe('other');
  });

  it('forgets a fact at its tombstone', () => {
    const table = filledTable(
      { account: account() },
      { site: site({ domains: ['shop.example'] }) },
      { key: apiKey() },
      { destination: ga4('shop', 'G-1') },
    );
    for (const recordKey of ['account/acme', `key/${'a'.repeat(64)}`, 'destination/shop/ga4', 'site/shop']) {
      expect(table.apply(recordKey, null)).toEqual({ ok: true });
    }
    expect(table.account('acme')).toBeUndefined();
    expect(table.keyByHash('a'.repeat(64))).toBeUndefined();
    expect(table.destination('shop', 'ga4')).toBeUndefined();
    expect(table.siteServedAt('shop.example')).toBeUndefined();
    expect(idsOf(table, 'G-1')).toEqual([]);
    expect([table.accounts(), table.sites(), table.keys(), table.destinations()]).toEqual([[], [], [], []]);
  });

  it('counts changes, and only changes', () => {
    const table = createSettingsTable();
    expect(table.version).toBe(0);
    put(table, { account: account() });
    expect(table.version).toBe(1);
    table.apply('account/unknown', null);
    table.apply('account/other', setting({ account: account() }));
    expect(table.version).toBe(1);
    table.apply('account/acme', null);
    expect(table.version).toBe(2);
  });

  it('gives a view of the destinations of a kind that follows later changes', () => {
    const table = createSettingsTable();
    const meta = table.destinationsOfKind('meta');
    expect(meta.size).toBe(0);
    put(table, { destination: destination() });
    put(table, { destination: destination({ site_id: 'travel', enabled: false }) });
    expect([...meta.keys()]).toEqual(['shop', 'travel']);
    expect(table.destinationsOfKind('tiktok').size).toBe(0);
    put(table, { destination: destination({ name: 'meta-eu' }) });
    expect(meta.get('shop')?.map(({ name }) => name)).toEqual(['meta', 'meta-eu']);
    expect(table.destination('shop', 'meta-eu')?.name).toBe('meta-eu');
    table.apply('destination/shop/meta-eu', null);
    table.apply('destination/shop/meta', null);
    expect([...meta.keys()]).toEqual(['travel']);
  });

  it('lists in the order of ids', () => {
    const table = filledTable(
      { account: account({ account_id: 'b' }) },
      { account: account({ account_id: 'a' }) },
      { site: site({ site_id: 'y' }) },
      { site: site({ site_id: 'x' }) },
      { destination: destination({ name: 'webhook' }) },
      { destination: destination({ name: 'meta' }) },
      { key: apiKey({ site_id: 'y' }) },
      { key: apiKey({ site_id: 'x', key_hash: 'b'.repeat(64) }) },
    );
    expect(table.accounts().map((item) => item.account_id)).toEqual(['a', 'b']);
    expect(table.sites().map((item) => item.site_id)).toEqual(['x', 'y']);
    expect(table.destinations().map((item) => item.name)).toEqual(['meta', 'webhook']);
    expect(table.keys().map((item) => item.site_id)).toEqual(['x', 'y']);
  });
});

describe('a record that cannot be', () => {
  it('is an error value and changes nothing', () =>
    checkAll(
      [
        ['nonsense', setting({ account: account() }), 'setting_key_malformed'],
        ['nonsense', null, 'setting_key_malformed'],
        ['account/acme', setting({}), 'setting_body_malformed'],
        ['account/acme', setting({ account: account(), site: site() }), 'setting_body_malformed'],
        ['account/other', setting({ account: account() }), 'setting_key_mismatch'],
        ['account/acme', setting({ site: site({ site_id: 'acme' }) }), 'setting_key_mismatch'],
        ['destination/shop/tiktok', setting({ destination: destination() }), 'setting_key_mismatch'],
        ['destination/other/meta', setting({ destination: destination() }), 'setting_key_mismatch'],
        [`key/${'b'.repeat(64)}`, setting({ key: apiKey() }), 'setting_key_mismatch'],
      ],
      ([recordKey, record, code]) => {
        const table = createSettingsTable();
        expect(table.apply(recordKey, record)).toEqual({ ok: false, code, recordKey });
        expect(table.version).toBe(0);
        expect([table.accounts(), table.sites(), table.keys(), table.destinations()]).toEqual([[], [], [], []]);
      },
    ));
});

describe('public names', () => {
  it('are served for the site that owns them and has proven it', () => {
    const table = filledTable({ site: site({ domains: ['shop.example'] }) });
    expect(table.siteServedAt('shop.example')).toBeUndefined();
    put(table, { domain_proof: domainProof('shop.example') });
    expect(table.siteServedAt('shop.example')?.site_id).toBe('shop');
    expect(table.siteServedAt('www.shop.example')).toBeUndefined();
    put(table, { site: site({ domains: [] }) });
    expect(table.siteServedAt('shop.example')).toBeUndefined();
    put(table, { site: site({ domains: ['shop.example'] }) });
    table.apply('domain_proof/shop/shop.example', null);
    expect(table.siteServedAt('shop.example')).toBeUndefined();
    expect(table.domainProofs('shop').size).toBe(0);
  });

  it('are served for the one that proves them, whoever else claims them', () => {
    const claim = (site_id: string) => ({ site: site({ site_id, domains: ['shop.example'] }) });
    const table = filledTable(claim('a'), claim('shop'), { domain_proof: domainProof('shop.example') });
    expect(table.siteServedAt('shop.example')?.site_id).toBe('shop');
    put(table, { domain_proof: domainProof('shop.example', { site_id: 'a' }) });
    table.apply('site/shop', null);
    expect(table.siteServedAt('shop.example')?.site_id).toBe('a');
    put(table, { domain_proof: domainProof('shop.example', { site_id: 'a', verified_at: null }) });
    expect(table.siteServedAt('shop.example')).toBeUndefined();
  });

  it('lead from a measurement id to its site', () => {
    const table = filledTable({ site: site() }, { destination: ga4('shop', 'G-1') });
    expect(idsOf(table, 'G-1')).toEqual(['shop']);
    put(table, { destination: ga4('shop', 'G-2') });
    expect(idsOf(table, 'G-1')).toEqual([]);
    expect(idsOf(table, 'G-2')).toEqual(['shop']);
  });

  it('tell every site that has a measurement id', () => {
    const table = filledTable(
      { site: site() },
      { site: site({ site_id: 'twin' }) },
      { destination: ga4('shop', 'G-1') },
    );
    put(table, { destination: ga4('twin', 'G-1') });
    expect([idsOf(table, 'G-1'), idsOf(table, 'G-2')]).toEqual([['shop', 'twin'], []]);
    table.apply('destination/twin/ga4', null);
    expect(idsOf(table, 'G-1')).toEqual(['shop']);
  });

  it('do not lead to a site that is gone', () => {
    expect(idsOf(filledTable({ destination: ga4('gone', 'G-1') }), 'G-1')).toEqual([]);
  });
});
