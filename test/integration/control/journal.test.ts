import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { partsConfig } from '#infra/config/service_config.ts';
import { openKafka } from '#infra/kafka/client.ts';
import { createRegistry } from '#infra/registry/schema_registry.ts';
import { openDataReadLog } from '#infra/settings/data_read_log.ts';
import { type FollowedSettings, followSettings } from '#infra/settings/follow_settings.ts';
import type { AuditPage, DataReadPage } from '#services/control_api/audit.ts';
import { ControlRefusal, ControlUnavailableError } from '#services/control_api/client.ts';
import type { AccountItem } from '#services/control_api/sites.ts';
import type { OpenControl } from '#test/harness/control_in_process.ts';
import { useInstallation } from '#test/harness/installation.ts';
import { quiet, uniqueName } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { controlEnvironment, openReplica, provisionFollowed } from './control_world.ts';

const installation = useInstallation('topics');
let env: Record<string, string> = {};
let replica: OpenControl;

beforeAll(async () => {
  env = controlEnvironment(installation().addresses);
  await provisionFollowed(env);
  replica = await openReplica(env);
});

afterAll(() => replica.close());

async function createAccount(control: OpenControl): Promise<AccountItem> {
  return control.client.send('POST', '/accounts', null, { account_id: uniqueName('a'), monthly_allowance: 0 });
}

describe('a change', () => {
  it('is seen by whoever follows the topic', async () => {
    const follower = await openFollower();
    const account = await createAccount(replica);
    for (const name of ['one', 'two', 'three']) {
      const path = `/accounts/${account.account_id}`;
      const { version } = await replica.client.get<AccountItem>(path);
      await replica.client.send('PATCH', path, version, { name });
      const isThere = () => follower.table.account(account.account_id)?.name === name;
      await until(`the follower knows ${name}`, isThere);
    }
    await follower.stop();
  });

  it('outlives the control service with its version and its audit', async () => {
    const account = await createAccount(replica);
    const audit = await replica.client.get<AuditPage>('/audit?limit=1000');
    await replica.close();
    replica = await openReplica(env);
    expect(await replica.client.get(`/accounts/${account.account_id}`)).toEqual(account);
    expect(await replica.client.get('/audit?limit=1000')).toEqual(audit);
    expect(audit.items[0]).toMatchObject({ setting_key: `account/${account.account_id}`, changed_by: 'first' });
  });
});

describe('two control services', () => {
  it('never write on top of what they have not read', async () => {
    const second = await openReplica(env);
    const account = await createAccount(second);
    const path = `/accounts/${account.account_id}`;
    // The first one was fenced: it opens the topic anew, and then knows what the second one wrote.
    const change = () => replica.client.send('PATCH', path, account.version, { name: 'first' });
    await createAccount(replica);
    expect(await replica.client.get(path)).toEqual(account);
    await second.client.send('PATCH', path, account.version, { name: 'second' });
    await expect(change()).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await second.client.get(path)).toMatchObject({ name: 'second' });
    await second.close();
  });

  it('lose no acknowledged change when both are written to at once', async () => {
    const second = await openReplica(env);
    const { account_id } = await createAccount(second);
    // Each that writes fences the other, which opens the topic anew: a second for every time that they meet.
    await Promise.all([replica, second].map((control) => countUp(control, `/accounts/${account_id}`, 2)));
    const last = await openReplica(env);
    expect(await last.client.get(`/accounts/${account_id}`)).toMatchObject({ monthly_allowance: 4 });
    const { items } = await last.client.get<AuditPage>(`/audit?limit=1000&setting_key=account/${account_id}`);
    expect(items).toHaveLength(5);
    expect(new Set(items.map(({ seq }) => seq)).size).toBe(5);
    await second.close();
    await last.close();
  });
});

describe('who read data of people', () => {
  it('is listed newest first, page by page, by whichever service is asked', async () => {
    const config = partsConfig(env);
    const session = await openKafka(config.kafka, 'reads', quiet);
    const log = await openDataReadLog(session, createRegistry(config.registryUrl));
    const site = uniqueName('s');
    const entry = { first_at: 1, last_at: 2, read_by: 'user:ada', site_id: site, format: 'json', reads: 2 };
    await log.append([
      { ...entry, kind: 'sql', rows: null },
      { ...entry, kind: 'live', rows: 50 },
      { ...entry, kind: 'event', rows: 1 },
    ]);
    const first = await replica.client.get<DataReadPage>('/audit/reads', { site_id: site, limit: 2 });
    expect(first.items).toMatchObject([{ kind: 'event' }, { ...entry, kind: 'live', rows: 50 }]);
    const second = await replica.client.get<DataReadPage>('/audit/reads', { site_id: site, before: first.next ?? 0 });
    expect(second).toMatchObject({ items: [{ kind: 'sql', rows: null }], next: null });
    const soon = Date.now() + 3_600_000;
    expect(await replica.client.get('/audit/reads', { since: soon })).toEqual({ items: [], next: null });
    await log.stop();
    await session.stop();
  });
});

/** Adds one to the allowance so many times, reading anew whenever somebody else was faster. */
async function countUp({ client }: OpenControl, path: string, times: number): Promise<void> {
  for (let done = 0; done < times; ) {
    const { version, monthly_allowance } = await client.get<AccountItem>(path).catch(onlyUnknown);
    try {
      await client.send('PATCH', path, version, { monthly_allowance: monthly_allowance + 1 });
      done++;
    } catch (error) {
      if (!(error instanceof ControlUnavailableError || isConflict(error))) throw error;
    }
  }
}

/** A replica that has not read the account yet knows it after its next write. */
function onlyUnknown(error: unknown): Pick<AccountItem, 'version' | 'monthly_allowance'> {
  if (error instanceof ControlRefusal && error.status === 404) return { version: 'none', monthly_allowance: 0 };
  throw error;
}

const isConflict = (error: unknown): boolean => error instanceof ControlRefusal && [404, 412].includes(error.status);

async function openFollower(): Promise<FollowedSettings> {
  const config = partsConfig(env);
  const session = await openKafka(config.kafka, 'follower', quiet);
  const failed = (error: unknown): never => {
    throw error;
  };
  const settings = await followSettings(session, createRegistry(config.registryUrl), quiet, failed);
  return {
    ...settings,
    async stop() {
      await settings.stop();
      await session.stop();
    },
  };
}
