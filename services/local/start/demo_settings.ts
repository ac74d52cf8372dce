import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashKey } from '#pipelines/settings/callers.ts';
import type { Caller } from '#schemas/event.ts';
import type { ControlClient } from '#services/control_api/client.ts';
import type { DestinationItem } from '#services/control_api/destinations.ts';
import type { AccountItem, IssuedKeyItem, KeyItem, SiteItem } from '#services/control_api/sites.ts';

/** A demo site as scripts find it in ready.json. */
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

/** What the demo sites deliver to. */
export const DEMO_DESTINATIONS: readonly string[] = ['meta', 'webhook'];

const ACCOUNT_ID = 'demo';
/** Enough for many demo days. */
const ALLOWANCE = 10_000_000;
/** From a range kept for documentation (RFC 5737). */
const BLOCKED_IP = '198.51.100.66';
const PIXELS = { shop: '100000000000001', travel: '100000000000002' } as const;
const CATEGORIES = { shop: 'ecommerce_retail', travel: 'travel' } as const;

/**
 * Makes the demo account, two sites, their keys and their destinations where they are missing, through the control
 * service. The keys' secrets are kept beside the data, as the topic holds only their hashes.
 */
export async function ensureDemo(client: ControlClient, dataDir: string, standins: StandinUrls): Promise<DemoSites> {
  await ensureAccount(client);
  const saved = readSaved(dataDir);
  const sites = {
    shop: await ensureSite(client, 'shop', saved?.shop, standins),
    travel: await ensureSite(client, 'travel', saved?.travel, standins),
  };
  writeFileSync(join(dataDir, 'demo_keys.json'), `${JSON.stringify(sites, null, 2)}\n`, { mode: 0o600 });
  return sites;
}

async function ensureAccount(client: ControlClient): Promise<void> {
  if ((await client.find<AccountItem>(`/accounts/${ACCOUNT_ID}`)) !== undefined) return;
  const account = { account_id: ACCOUNT_ID, name: 'Demo', monthly_allowance: ALLOWANCE };
  await client.send('POST', '/accounts', null, account);
}

async function ensureSite(
  client: ControlClient,
  site: keyof DemoSites,
  saved: DemoSite | undefined,
  standins: StandinUrls,
): Promise<DemoSite> {
  if ((await client.find<SiteItem>(`/sites/${site}`)) === undefined) {
    await client.send('POST', '/sites', null, {
      site_id: site,
      account_id: ACCOUNT_ID,
      name: `Demo ${site}`,
      business_category: CATEGORIES[site],
      default_country: 'US',
      block_rules: [{ kind: 'ip', value: BLOCKED_IP }],
    });
  }
  const browserKey = await ensureKey(client, site, 'browser', saved?.browserKey);
  const serverKey = await ensureKey(client, site, 'server', saved?.serverKey);
  await ensureDestination(client, site, 'meta', { pixel_id: PIXELS[site], base_url: standins.meta }, () => ({
    access_token: `demo-token-${randomBytes(8).toString('hex')}`,
  }));
  await ensureDestination(client, site, 'webhook', { url: `${standins.webhook}/${site}` }, () => ({
    secret: `whsec_${randomBytes(32).toString('base64')}`,
  }));
  return { site, browserKey, serverKey, blockedIp: BLOCKED_IP };
}

async function ensureKey(
  client: ControlClient,
  site: string,
  caller: Caller,
  known: string | undefined,
): Promise<string> {
  const found = known === undefined ? undefined : await client.find<KeyItem>(`/keys/${hashKey(known)}`);
  if (known !== undefined && found?.revoked_at === null) return known;
  const issued = await client.send<IssuedKeyItem>('POST', '/keys', null, { site_id: site, caller, label: 'demo' });
  return issued.secret;
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
    await client.send('PATCH', `${path}/${name}`, found.version, { settings });
  }
}

function readSaved(dataDir: string): DemoSites | null {
  const path = join(dataDir, 'demo_keys.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as DemoSites) : null;
}
