// What `npm start` sets at the control service: the demo account, its sites, and what the demo shop's pages fire and show.

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashKey } from '#pipelines/settings/callers.ts';
import type { Caller } from '#schemas/event.ts';
import type { ControlClient } from '#services/control_api/client.ts';
import type { DestinationItem } from '#services/control_api/destinations.ts';
import type { IssuedKeyItem, KeyItem } from '#services/control_api/sites.ts';
import SHOP_SETTINGS from './shop_settings.json' with { type: 'json' };

export interface DemoSite {
  site: string;
  browserKey: string;
  serverKey: string;
  /** An address whose events the site blocks. */
  blockedIp: string;
}

export interface DemoSites {
  shop: DemoSite;
  travel: DemoSite;
}

export interface StandinUrls {
  meta: string;
  webhook: string;
}

export const DEMO_DESTINATIONS: readonly string[] = ['meta', 'webhook'];

const ACCOUNT_ID = 'demo';
/** Enough for many demo days. */
const ALLOWANCE = 10_000_000;
/** From a range kept for documentation (RFC 5737). */
const BLOCKED_IP = '198.51.100.66';
const PIXELS = { shop: '100000000000001', travel: '100000000000002' } as const;
const CATEGORIES = { shop: 'ecommerce_retail', travel: 'travel' } as const;
/** The demo shop's pages belong to the demo site of the same name. */
const SHOP = 'shop';

/**
 * Makes the demo account, two sites, their keys and their destinations where they are missing, through the control
 * service. The keys' secrets are kept beside the data, as the topic holds only their hashes.
 */
export async function ensureDemo(client: ControlClient, dataDir: string, standins: StandinUrls): Promise<DemoSites> {
  const account = { account_id: ACCOUNT_ID, name: 'Demo', monthly_allowance: ALLOWANCE };
  await ensureItem(client, '/accounts', ACCOUNT_ID, account);
  const path = join(dataDir, 'demo_keys.json');
  const saved: Partial<DemoSites> = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  const sites = {
    shop: await ensureSite(client, 'shop', saved.shop, standins),
    travel: await ensureSite(client, 'travel', saved.travel, standins),
  };
  writeFileSync(path, `${JSON.stringify(sites, null, 2)}\n`, { mode: 0o600 });
  return sites;
}

async function ensureSite(
  client: ControlClient,
  site: keyof DemoSites,
  saved: DemoSite | undefined,
  standins: StandinUrls,
): Promise<DemoSite> {
  await ensureItem(client, '/sites', site, {
    site_id: site,
    account_id: ACCOUNT_ID,
    name: `Demo ${site}`,
    business_category: CATEGORIES[site],
    default_country: 'US',
    block_rules: [{ kind: 'ip', value: BLOCKED_IP }],
  });
  const key = (caller: Caller, known: string | undefined) =>
    ensureKey(client, known, { site_id: site, caller, label: 'demo' });
  const browserKey = await key('browser', saved?.browserKey);
  const serverKey = await key('server', saved?.serverKey);
  await ensureDestination(client, site, 'meta', { pixel_id: PIXELS[site], base_url: standins.meta }, () => ({
    access_token: `demo-token-${randomBytes(8).toString('hex')}`,
  }));
  await ensureDestination(client, site, 'webhook', { url: `${standins.webhook}/${site}` }, () => ({
    secret: `whsec_${randomBytes(32).toString('base64')}`,
  }));
  return { site, browserKey, serverKey, blockedIp: BLOCKED_IP };
}

/**
 * Gives the site `shop` what its pages fire and show where that is missing, and the pages a browser key that works from
 * their origin only. Returns the key; its secret is kept beside the data.
 */
export async function ensureShopPages(client: ControlClient, dataDir: string, origin: string): Promise<string> {
  for (const [collection, items] of Object.entries(SHOP_SETTINGS)) {
    for (const item of items) await ensureItem(client, `/sites/${SHOP}/${collection}`, item.id, item);
  }
  const path = join(dataDir, 'shop_pages.key');
  const known = existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
  const wanted = { site_id: SHOP, caller: 'browser', label: 'pages of the demo shop', allowed_origins: [origin] };
  const key = await ensureKey(client, known, wanted);
  writeFileSync(path, `${key}\n`, { mode: 0o600 });
  return key;
}

/** Makes an item of a collection of the control API where it is missing; what is there stays as it is. */
async function ensureItem(client: ControlClient, collection: string, id: string, item: object): Promise<void> {
  if ((await client.find(`${collection}/${id}`)) === undefined) await client.send('POST', collection, null, item);
}

/** The known key where it still works, else a new one. Pages may have moved to another port since the last start. */
async function ensureKey(
  client: ControlClient,
  known: string | undefined,
  wanted: { site_id: string; caller: string; label: string; allowed_origins?: string[] },
): Promise<string> {
  const path = known === undefined ? '' : `/keys/${hashKey(known)}`;
  const found = known === undefined ? undefined : await client.find<KeyItem>(path);
  if (known === undefined || found?.revoked_at !== null)
    return (await client.send<IssuedKeyItem>('POST', '/keys', null, wanted)).secret;
  const { allowed_origins } = wanted;
  if (allowed_origins !== undefined && found.allowed_origins.join() !== allowed_origins.join())
    await client.send('PATCH', path, found.version, { allowed_origins });
  return known;
}

/** The stand-ins may have moved to another port since the last start. */
async function ensureDestination(
  client: ControlClient,
  site: string,
  name: string,
  settings: Record<string, string>,
  newSecrets: () => Record<string, string>,
): Promise<void> {
  const path = `/sites/${site}/destinations`;
  const found = await client.find<DestinationItem>(`${path}/${name}`);
  if (found === undefined) {
    await client.send('POST', path, null, { name, settings, secrets: newSecrets() });
  } else if (Object.keys(settings).some((field) => found.settings[field] !== settings[field])) {
    // Secrets are given anew with another address, as control asks of everybody.
    await client.send('PATCH', `${path}/${name}`, found.version, { settings, secrets: newSecrets() });
  }
}
