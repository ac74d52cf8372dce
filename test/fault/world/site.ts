import { randomBytes, randomInt } from 'node:crypto';
import { openSettings } from '#test/harness/settings.ts';
import { until } from '#test/harness/until.ts';
import type { World } from './fault_world.ts';

/** A site with an account, a key and both destinations, all its own, so that a row's counts are nobody else's. */
export interface FaultSite {
  site: string;
  account: string;
  serverKey: string;
  /** How the stand-ins name what is meant for this site. */
  scopes: { meta: string; webhook: string };
}

const PIXEL_MAX = 2 ** 47;

/** The fault before may have left the control service without a way to Kafka for some seconds. */
const MADE_MS = 60_000;
const RETRY_MS = 1_000;

/** Makes them; returns when every edge knows the key and the site. Where that fails another site is made. */
export async function makeFaultSite(world: World, row: string): Promise<FaultSite> {
  return until(
    'a site',
    () => tryToMake(world, row),
    () => true,
    { timeoutMs: MADE_MS, everyMs: RETRY_MS },
  );
}

async function tryToMake(world: World, row: string): Promise<FaultSite> {
  // Of letters: events' ids have it in them, and digits in a row may be somebody's number.
  const own = randomBytes(3)
    .toString('hex')
    .replaceAll(/\d/g, (digit) => 'ghijklmnop'.charAt(Number(digit)));
  const name = `f-${row.replaceAll(/[^a-z0-9]/g, '-')}-${own}`.slice(0, 60);
  const settings = await openSettings(world);
  const pixel = String(100_000_000_000_000 + randomInt(PIXEL_MAX));
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  await settings.run('account', 'create', name, '--allowance', '100000000');
  await settings.run('site', 'create', name, '--account', name);
  await settings.run(
    'destination',
    'create',
    'webhook',
    '--site',
    name,
    '--set',
    `url=${world.standins.webhook}/${name}`,
    '--secret',
    `secret=${secret}`,
  );
  await settings.run(
    'destination',
    'create',
    'meta',
    '--site',
    name,
    '--set',
    `pixel_id=${pixel}`,
    '--set',
    `base_url=${world.standins.meta}`,
    '--secret',
    'access_token=a-token',
  );
  const { secret: serverKey } = await settings.run<{ secret: string }>(
    'key',
    'create',
    '--site',
    name,
    '--caller',
    'server',
  );
  for (const edge of world.edges) await keyWorks(edge, serverKey);
  return { site: name, account: name, serverKey, scopes: { meta: pixel, webhook: `/${name}` } };
}

async function keyWorks(edge: string, key: string): Promise<void> {
  await until(
    'the edge knows the new key',
    async () => (await fetch(`${edge}/v1/config`, { headers: { 'x-svc-key': key } })).status,
    (status) => status === 200,
  );
}
