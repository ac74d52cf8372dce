import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyRing } from '#infra/secrets/key_ring.ts';
import { sealSecret } from '#infra/secrets/seal.ts';
import { accountKey, apiKeyKey, destinationKey, siteKey } from '#pipelines/settings/address.ts';
import { hashKey, issueKey } from '#pipelines/settings/keys.ts';
import type { SettingsStore } from '#pipelines/settings/store.ts';
import type { Caller } from '#schemas/event.ts';
import type { ApiKey, Setting, Site } from '#schemas/setting.ts';

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

const CHANGED_BY = 'start';
const ACCOUNT_ID = 'demo';
/** Enough for many demo days. */
const ALLOWANCE = 10_000_000;
/** From a range kept for documentation (RFC 5737). */
const BLOCKED_IP = '198.51.100.66';
const PIXELS = { shop: '100000000000001', travel: '100000000000002' } as const;

/**
 * Makes the demo account, two sites, their keys and their destinations where they are missing. The keys' secrets are
 * kept beside the data, as the topic holds only their hashes.
 */
export async function ensureDemo(
  store: SettingsStore,
  ring: KeyRing,
  dataDir: string,
  standins: StandinUrls,
  nowMs: number,
): Promise<DemoSites> {
  const write = (key: string, body: Partial<Setting>): Promise<void> =>
    store.write(key, {
      changed_at: nowMs,
      changed_by: CHANGED_BY,
      account: null,
      site: null,
      key: null,
      destination: null,
      ...body,
    });
  if (store.table.account(ACCOUNT_ID) === undefined) {
    await write(accountKey(ACCOUNT_ID), {
      account: { account_id: ACCOUNT_ID, name: 'Demo', monthly_allowance: ALLOWANCE },
    });
  }
  const saved = readSaved(dataDir);
  const sites = { shop: await ensureSite('shop', 'ecommerce_retail'), travel: await ensureSite('travel', 'travel') };
  writeFileSync(join(dataDir, 'demo_keys.json'), `${JSON.stringify(sites, null, 2)}\n`, { mode: 0o600 });
  return sites;

  async function ensureSite(name: keyof DemoSites, category: string): Promise<DemoSite> {
    if (store.table.site(name) === undefined) await write(siteKey(name), { site: newSite(name, category) });
    const browserKey = await ensureKey(name, 'browser', saved?.[name].browserKey);
    const serverKey = await ensureKey(name, 'server', saved?.[name].serverKey);
    await ensureMeta(name);
    await ensureWebhook(name);
    return { site: name, browserKey, serverKey, blockedIp: BLOCKED_IP };
  }

  async function ensureKey(siteId: string, caller: Caller, known: string | undefined): Promise<string> {
    if (known !== undefined && store.table.keyByHash(hashKey(known))?.revoked_at === null) return known;
    const issued = issueKey(caller, randomBytes);
    await write(apiKeyKey(issued.keyHash), { key: newKey(siteId, caller, issued.keyHash, issued.shownPrefix, nowMs) });
    return issued.secret;
  }

  async function ensureMeta(siteId: keyof DemoSites): Promise<void> {
    const settings = { pixel_id: PIXELS[siteId], base_url: standins.meta };
    await ensureDestination(siteId, 'meta', settings, 'base_url', {
      access_token: `demo-token-${randomBytes(8).toString('hex')}`,
    });
  }

  async function ensureWebhook(siteId: string): Promise<void> {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    await ensureDestination(siteId, 'webhook', { url: `${standins.webhook}/${siteId}` }, 'url', { secret });
  }

  /** The stand-ins may have moved to another port since the last start. */
  async function ensureDestination(
    siteId: string,
    name: string,
    settings: Record<string, string>,
    address: string,
    secrets: Record<string, string>,
  ): Promise<void> {
    const found = store.table.destination(siteId, name);
    if (found !== undefined && found.settings[address] === settings[address]) return;
    const sealed =
      found?.secrets ??
      Object.fromEntries(
        Object.entries(secrets).map(([field, value]) => [
          field,
          sealSecret(ring, { siteId, destination: name, field }, value, randomBytes),
        ]),
      );
    await write(destinationKey(siteId, name), {
      destination: {
        site_id: siteId,
        name,
        enabled: found?.enabled ?? true,
        settings: { ...found?.settings, ...settings },
        secrets: sealed,
      },
    });
  }
}

function readSaved(dataDir: string): DemoSites | null {
  const path = join(dataDir, 'demo_keys.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as DemoSites) : null;
}

function newSite(name: string, category: string): Site {
  return {
    site_id: name,
    account_id: ACCOUNT_ID,
    name: `Demo ${name}`,
    mode: 'online',
    business_category: category,
    default_country: 'US',
    identify_events: null,
    clarity_project_id: null,
    gtm_container_id: null,
    domains: [],
    block_rules: [{ kind: 'ip', value: BLOCKED_IP, property: null }],
    event_definitions: [],
  };
}

function newKey(siteId: string, caller: Caller, keyHash: string, shownPrefix: string, nowMs: number): ApiKey {
  return {
    key_hash: keyHash,
    shown_prefix: shownPrefix,
    site_id: siteId,
    caller,
    label: 'demo',
    allowed_origins: [],
    created_at: nowMs,
    expires_at: null,
    revoked_at: null,
  };
}
