import { hash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { issueSecret } from '#pipelines/settings/admin_tokens.ts';
import { type LocalParts, startParts } from '#services/local/parts/parts.ts';
import { select } from '#test/harness/clickhouse.ts';
import { type Command, runCommand, startCommand } from '#test/harness/command.ts';
import { postBody } from '#test/harness/ingest.ts';
import { discard } from '#test/harness/parts.ts';
import { until } from '#test/harness/until.ts';

const STARTED_MS = 300_000;
const PAUSE_MS = 50;
const CUSTOMERS = 4;
const HAPPENED = new Date(Date.now() - 60_000).toISOString();
const MAINS = ['control', 'edge', 'dedup', 'identity', 'warehouse'];

let dataDir: string;
let parts: LocalParts;
let env: Record<string, string>;
let token: string;
const running = new Map<string, Command>();

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'rotated-'));
  parts = await startParts({ dataDir, external: {}, onProgress: () => undefined, onPartExit: () => undefined });
  token = issueSecret('all', randomBytes).secret;
  env = {
    KAFKA_BROKERS: parts.addresses.kafkaBrokers,
    SCHEMA_REGISTRY_URL: parts.addresses.registryUrl,
    REDIS_URL: parts.addresses.redisUrl,
    CLICKHOUSE_URL: parts.addresses.clickhouseUrl,
    EVENT_PARTITIONS: '2',
    IDENTITY_SECRET: randomBytes(32).toString('base64'),
    SECRETS_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    EDGE_PORT: '0',
    CONTROL_PORT: '0',
    CONTROL_FIRST_TOKEN_SHA256: hash('sha256', token),
  };
  expect((await runCommand('services/provision/main.ts', [], env)).code).toBe(0);
  for (const name of MAINS) start(name);
}, STARTED_MS);

afterAll(async () => {
  for (const { child } of running.values()) child.kill('SIGKILL');
  await discard(parts);
  rmSync(dataDir, { recursive: true, maxRetries: 5 });
}, STARTED_MS);

function start(name: string): void {
  running.set(name, startCommand(`services/${name}/main.ts`, [], env));
}

async function restart(name: string): Promise<void> {
  const { child, ended } = running.get(name) as Command;
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
  start(name);
}

async function addressOf(name: string): Promise<string> {
  const log = (): string => running.get(name)?.output() ?? '';
  const found = await until(
    `${name} ready`,
    () => /"url":"([^"]+)"/.exec(log()),
    (match) => match !== null,
  );
  return found?.[1] ?? '';
}

async function svc(...words: string[]): Promise<Record<string, unknown>> {
  const settings = { SVC_CONTROL_URL: await addressOf('control'), SVC_ADMIN_TOKEN: token, LOCAL_DIR: dataDir };
  const { code, output } = await runCommand('services/cli/main.ts', [...words, '--json'], settings);
  if (code !== 0) throw new Error(`${words.join(' ')}: ${output}`);
  return JSON.parse(output);
}

/** What one customer does in a round: at a browser that signs in, at a till by the phone number, and known by the address alone. */
const eventsOf = (customer: number, round: number): object[] => {
  const email = `customer-${customer}@example.com`;
  const phone = `+1650555010${customer}`;
  const of = (event: string, fields: object, properties: object = {}): object => ({
    ...{ event, uuid: `${event}-${customer}-${round}`, ...fields },
    properties: { ...properties, customer: String(customer) },
  });
  return [
    of('login', { distinct_id: `browser-${customer}-${round}` }, { email }),
    of('purchase', {}, { $action_source: 'physical_store', phone, email }),
    of('lead', { distinct_id: email }),
    // Without an id of its own: the edge makes the same of it each time.
    {
      event: 'repeated',
      distinct_id: `browser-${customer}-0`,
      timestamp: HAPPENED,
      properties: { customer: String(customer) },
    },
  ];
};

interface Seen {
  customer: string;
  persons: string[];
  addresses: string[];
  phones: string[];
  repeated: number;
}

test('the identity secret is rotated in traffic, and everybody stays who they are', {
  timeout: STARTED_MS,
}, async () => {
  const site = `rot-${randomUUID().slice(0, 8)}`;
  await svc('account', 'create', site, '--allowance', '100000');
  await svc('site', 'create', site, '--account', site, '--country', 'US');
  const { secret: key } = await svc('key', 'create', '--site', site, '--caller', 'server');
  let rounds = 0;
  let isOver = false;
  async function round(): Promise<void> {
    const events = Array.from({ length: CUSTOMERS }, (_, customer) => eventsOf(customer, rounds)).flat();
    const isAccepted = async (): Promise<boolean> =>
      (await postBody(await addressOf('edge'), String(key), JSON.stringify({ events }))).status === 200;
    await until('accepted', isAccepted);
    rounds += 1;
  }
  const STATEMENT = `SELECT JSONExtractString(properties, 'customer') AS customer, groupUniqArray(person_id) AS persons,
    groupUniqArrayIf(distinct_id, event = 'lead') AS addresses, groupUniqArrayIf(phone_hmac, event = 'purchase') AS phones,
    uniqExactIf(event_id, event = 'repeated') AS repeated, uniqExactIf(event_id, event = 'purchase') AS purchases
    FROM events WHERE site_id = {site:String} GROUP BY customer ORDER BY customer`;
  const stored = () => select<Seen & { purchases: string }>(parts.addresses.clickhouseUrl, STATEMENT, { site });
  const untilStored = async () => {
    const wanted = rounds;
    const isThere = (rows: { purchases: string; persons: string[] }[]): boolean =>
      rows.length === CUSTOMERS &&
      rows.every(({ purchases, persons }) => Number(purchases) >= wanted && persons.length === 1);
    return until('all rows', stored, isThere, { timeoutMs: 120_000 });
  };

  await round();
  const before = await untilStored();
  const flowing = (async () => {
    for (; !isOver; await sleep(PAUSE_MS)) await round();
  })();

  const rotate = await runCommand('services/cli/main.ts', ['identity', 'rotate', '--json'], {
    ...env,
    LOCAL_DIR: dataDir,
  });
  expect(rotate.code).toBe(0);
  const rotated = JSON.parse(rotate.output) as { IDENTITY_SECRET: string; IDENTITY_KEY: string };
  expect(rotated.IDENTITY_SECRET).not.toBe(env['IDENTITY_SECRET']);
  env = { ...env, ...rotated };
  const roundsBefore = rounds;
  for (const name of MAINS.slice(1)) {
    await restart(name);
    await until(
      `rounds with another ${name}`,
      () => rounds,
      (seen) => seen > roundsBefore,
    );
  }
  isOver = true;
  await flowing;
  await round();

  const after = await untilStored();
  const kept = ({ customer, persons, addresses, phones, repeated }: Seen) => ({
    customer,
    persons,
    addresses,
    phones,
    repeated,
  });
  expect(after.map(kept)).toEqual(before.map(kept));
  for (const { addresses, phones, repeated } of after) {
    expect([addresses.length, phones.length, Number(repeated)]).toEqual([1, 1, 1]);
  }
});

test('a secret without the key of its rotation starts nothing', async () => {
  const { IDENTITY_KEY: _key, ...others } = env;
  const wrong = {
    ...others,
    IDENTITY_KEY: env['IDENTITY_KEY'] ?? '',
    IDENTITY_SECRET: randomBytes(32).toString('base64'),
  };
  const { code, output } = await runCommand('services/edge/main.ts', [], wrong);
  expect(code).not.toBe(0);
  expect(output).toContain('IDENTITY_KEY does not open with IDENTITY_SECRET');
});
