import { randomBytes, randomUUID } from 'node:crypto';
import { type ControlledService, openSettings, type SettingsEditor } from './settings.ts';
import type { SharedService } from './shared_service.ts';
import { until } from './until.ts';

/** A site of its own for a test file, so that its counts are nobody else's. */
export interface TestSite {
  site: string;
  account: string;
  browserKey: string;
  serverKey: string;
  /** Signs what the webhook gets; empty where the site has none. */
  webhookSecret: string;
  settings: SettingsEditor;
  close(): Promise<void>;
}

export interface TestSiteOptions {
  /** Where its events are to be delivered. */
  webhookUrl?: string;
  /** Events its account may have in a month; a million by default. */
  allowance?: number;
  /** Further words for `site create`. */
  siteWords?: string[];
  /** Further words for `key create` of the browser key. */
  browserKeyWords?: string[];
}

/** Makes an account with a site, its keys and, where asked, a webhook; returns when the edge knows them. */
export async function makeSite(
  service: ControlledService & { ready: Pick<SharedService['ready'], 'edge'> },
  options: TestSiteOptions = {},
): Promise<TestSite> {
  const name = `t-${randomUUID().slice(0, 8)}`;
  const settings = await openSettings(service);
  const webhookSecret = options.webhookUrl === undefined ? '' : `whsec_${randomBytes(32).toString('base64')}`;
  await settings.run('account', 'create', name, '--allowance', String(options.allowance ?? 1_000_000));
  await settings.run('site', 'create', name, '--account', name, ...(options.siteWords ?? []));
  if (options.webhookUrl !== undefined) {
    const words = ['--site', name, '--set', `url=${options.webhookUrl}`, '--secret', `secret=${webhookSecret}`];
    await settings.run('destination', 'create', 'webhook', ...words);
  }
  const browserKey = await makeKey(settings, name, 'browser', options.browserKeyWords);
  const serverKey = await makeKey(settings, name, 'server');
  await keyWorks(service.ready.edge, serverKey);
  return {
    site: name,
    account: name,
    browserKey,
    serverKey,
    webhookSecret,
    settings,
    close: () => settings.close(),
  };
}

/** Creates a key and returns its secret. */
export async function makeKey(
  settings: SettingsEditor,
  site: string,
  caller: 'browser' | 'server',
  words: string[] = [],
): Promise<string> {
  const key = await settings.run<{ secret: string }>('key', 'create', '--site', site, '--caller', caller, ...words);
  return key.secret;
}

async function keyWorks(edge: string, key: string): Promise<void> {
  await until(
    'the edge knows the new key',
    async () => (await fetch(`${edge}/v1/config`, { headers: { 'x-svc-key': key } })).status,
    (status) => status === 200,
  );
}
