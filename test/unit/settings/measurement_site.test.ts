import { expect, it } from 'vitest';
import { findMeasurementSite } from '#pipelines/settings/callers.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { filledTable, put } from './filled_table.ts';
import { account, apiKey, destination, domainProof, NOW_MS, site } from './samples.ts';

const ID = 'G-SHOP1';
const PAGE = 'https://www.shop.example';

/** A site that claims the id, in an account of its own. */
function claim(
  table: SettingsTable,
  id: string,
  { origins = [] as string[], domain = '', at = 1, keyless = false },
): void {
  put(table, { account: account({ account_id: id }) });
  put(table, { site: site({ site_id: id, account_id: id, domains: domain === '' ? [] : [domain] }) });
  if (domain !== '') put(table, { domain_proof: domainProof(domain, { site_id: id }) });
  const key_hash = Buffer.from(id).toString('hex').padStart(64, '0');
  if (!keyless) put(table, { key: apiKey({ site_id: id, key_hash, allowed_origins: origins }) });
  const settings = { measurement_id: ID };
  put(table, { destination: destination({ site_id: id, name: 'ga4', settings, created_at: at }) });
}

type Claims = Record<string, Parameters<typeof claim>[2]>;

const cases: readonly (readonly [string, Claims, string | null, string])[] = [
  ['an id that is claimed without proof', { evil: {} }, PAGE, 'measurement_id_unproven'],
  ['the same where no page is known', { evil: {} }, null, 'measurement_id_unproven'],
  ['the domain of somebody else as proof', { evil: { domain: 't.evil.example' } }, PAGE, 'measurement_id_unproven'],
  ['a domain beside the page', { shop: { domain: 'events.shop.example' } }, PAGE, 'shop'],
  [
    'a name that a host of strangers gives out',
    { evil: { domain: 'a.github.io' } },
    'https://b.github.io',
    'measurement_id_unproven',
  ],
  ['a list that has the origin', { shop: { origins: [PAGE] } }, PAGE, 'shop'],
  ['a list that has not', { shop: { origins: ['https://a.example'] } }, PAGE, 'origin_not_allowed'],
  ['no key', { shop: { keyless: true } }, PAGE, 'browser_key_missing'],
  ['a page of this machine', { shop: {} }, 'http://localhost:3000', 'shop'],
  [
    'a claim without proof beside one with a domain',
    { evil: {}, shop: { domain: 'shop.example', at: 9 } },
    PAGE,
    'shop',
  ],
  [
    'a list of somebody else beside a domain',
    { evil: { origins: [PAGE] }, shop: { domain: 'shop.example', at: 9 } },
    PAGE,
    'shop',
  ],
  ['a later list beside an earlier', { evil: { origins: [PAGE], at: 9 }, shop: { origins: [PAGE] } }, PAGE, 'shop'],
  ['two without proof', { evil: {}, shop: {} }, PAGE, 'measurement_id_contested'],
  [
    'two that have proven',
    { a: { domain: 'a.shop.example' }, b: { domain: 'b.shop.example' } },
    PAGE,
    'measurement_id_contested',
  ],
  ['any list where no page is known', { evil: {}, shop: { origins: [PAGE] } }, null, 'shop'],
];

it('gives a hit to the site with proof that the page is its own, whoever else claims the id', () =>
  checkAll(cases, ([, claims, origin, expected]) => {
    const table = filledTable();
    for (const [id, how] of Object.entries(claims)) claim(table, id, how);
    const found = findMeasurementSite(table, { host: 'edge.example', measurementId: ID, origin }, NOW_MS);
    expect(found.ok ? found.site.site_id : found.code).toBe(expected);
  }));
