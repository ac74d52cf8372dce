import { randomBytes } from 'node:crypto';
import type { SettingsEditor } from '#test/harness/settings.ts';
import { until } from '#test/harness/until.ts';
import { DRILLED, type Drilled, type Place } from './place.ts';

/** A site of a drill with all destinations. */
export interface DrillSite {
  site: string;
  key: string;
  /** How each stand-in names what is meant for the site. */
  scopes: Record<Drilled, string>;
}

/** The token that a site's platform may revoke. */
export const OLD_TOKEN = 'old-token';

/** Makes sites that share an account; returns when the edge knows them. */
export async function makeSites(place: Place, settings: SettingsEditor, count: number): Promise<DrillSite[]> {
  const run = randomBytes(3).toString('hex');
  const account = `drill-${run}`;
  await settings.run('account', 'create', account, '--allowance', '100000000');
  const sites: DrillSite[] = [];
  for (let number = 0; number < count; number++)
    sites.push(await makeSite(place, settings, account, `${run}${number}`));
  const last = sites.at(-1);
  if (last !== undefined) await keyWorks(place.edge, last.key);
  await everyDeliveryRuns(place, settings, sites);
  return sites;
}

async function makeSite(place: Place, settings: SettingsEditor, account: string, suffix: string): Promise<DrillSite> {
  const site = `drill-${suffix}`;
  const pixel = String(Number.parseInt(randomBytes(6).toString('hex'), 16));
  const scopes = { tiktok: `C${pixel}`, meta: pixel, webhook: `/${site}` };
  await settings.run('site', 'create', site, '--account', account);
  const words: Record<Drilled, string[]> = {
    tiktok: ['--set', `pixel_code=${scopes.tiktok}`, '--set', `base_url=${place.standins.tiktok.url}`],
    meta: ['--set', `pixel_id=${pixel}`, '--set', `base_url=${place.standins.meta.url}`],
    webhook: ['--set', `url=${place.standins.webhook.url}${scopes.webhook}`],
  };
  for (const name of DRILLED) {
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

/** A destination's process is started when the first site has it; an event that comes through shows that it runs. */
async function everyDeliveryRuns(place: Place, _settings: SettingsEditor, sites: readonly DrillSite[]): Promise<void> {
  const [first] = sites;
  if (first === undefined) return;
  const event = drillEvent('first');
  await post(place.edge, first.key, [event]);
  const arrived = () =>
    DRILLED.every((name) => (place.standins[name].ledger.totals()[first.scopes[name]]?.first ?? 0) > 0);
  await until('every delivery runs', arrived, Boolean, { timeoutMs: RUNS_MS });
}

/** An event that every destination takes. */
export function drillEvent(prefix: string): { uuid: string } {
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
