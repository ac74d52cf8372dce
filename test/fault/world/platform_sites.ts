import { randomBytes } from 'node:crypto';
import { until } from '#test/harness/until.ts';
import type { Observed } from './observed.ts';
import { DESTINATIONS, type Destination } from './platforms.ts';

/** A site with all destinations. */
export interface PlatformSite {
  site: string;
  key: string;
  /** How each stand-in names what is meant for the site. */
  scopes: Record<Destination, string>;
}

/** The token that a site's platform may revoke. */
export const OLD_TOKEN = 'old-token';

/** Makes sites that share an account; returns when the edge knows them. */
export async function makeSites(observed: Observed, count: number): Promise<PlatformSite[]> {
  const { settings, edge } = observed;
  const run = randomBytes(3).toString('hex');
  const account = `p-${run}`;
  await settings.run('account', 'create', account, '--allowance', '100000000');
  const sites: PlatformSite[] = [];
  for (let number = 0; number < count; number++) sites.push(await makeSite(observed, account, `${run}${number}`));
  const last = sites.at(-1);
  if (last !== undefined) await keyWorks(edge, last.key);
  await everyDeliveryRuns(observed, sites);
  return sites;
}

async function makeSite({ platforms, settings }: Observed, account: string, suffix: string): Promise<PlatformSite> {
  const site = `p-${suffix}`;
  const pixel = String(Number.parseInt(randomBytes(6).toString('hex'), 16));
  const scopes = { tiktok: `C${pixel}`, meta: pixel, webhook: `/${site}` };
  await settings.run('site', 'create', site, '--account', account);
  const words: Record<Destination, string[]> = {
    tiktok: ['--set', `pixel_code=${scopes.tiktok}`, '--set', `base_url=${platforms.tiktok.url}`],
    meta: ['--set', `pixel_id=${pixel}`, '--set', `base_url=${platforms.meta.url}`],
    webhook: ['--set', `url=${platforms.webhook.url}${scopes.webhook}`],
  };
  for (const name of DESTINATIONS) {
    const secret =
      name === 'webhook' ? `secret=whsec_${randomBytes(32).toString('base64')}` : `access_token=${OLD_TOKEN}`;
    await settings.run('destination', 'create', name, '--site', site, ...words[name], '--secret', secret);
  }
  const made = await settings.run<{ secret: string }>('key', 'create', '--site', site, '--caller', 'server');
  return { site, key: made.secret, scopes };
}

async function keyWorks(edge: string, key: string): Promise<void> {
  const status = async () => (await fetch(`${edge}/v1/config`, { headers: { 'x-svc-key': key } })).status;
  await until('the edge knows the sites', status, (seen) => seen === 200);
}

const RUNS_MS = 60_000;

/** An event that comes through shows that a destination's process reads. */
async function everyDeliveryRuns({ edge, platforms }: Observed, sites: readonly PlatformSite[]): Promise<void> {
  const [first] = sites;
  if (first === undefined) return;
  const event = purchase('first');
  await post(edge, first.key, [event]);
  const arrived = () =>
    DESTINATIONS.every((name) => (platforms[name].ledger.totals()[first.scopes[name]]?.first ?? 0) > 0);
  await until('every delivery runs', arrived, Boolean, { timeoutMs: RUNS_MS });
}

/** An event that every destination takes. */
export function purchase(prefix: string): { uuid: string } {
  const uuid = `${prefix}-${randomBytes(8).toString('hex')}`;
  return {
    ...{ uuid, event: 'purchase', distinct_id: `v-${uuid.slice(-4)}` },
    ...{ timestamp: new Date().toISOString() },
    ...{
      properties: {
        ...{ email: `${uuid}@example.com`, value: 12.5, currency: 'EUR', order_id: uuid },
        ...{ $current_url: 'https://shop.example/done', client_ip_address: '192.0.2.7' },
        client_user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      },
    },
  };
}

/** @throws where the edge does not accept all of it. */
export async function post(edge: string, key: string, events: readonly object[]): Promise<void> {
  const response = await fetch(`${edge}/v1/ingest`, {
    method: 'POST',
    body: JSON.stringify({ events }),
    headers: { 'content-type': 'application/json', 'x-svc-key': key },
  });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`the edge answered ${response.status} ${body}`);
}
