import { hash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { partsConfig } from '#infra/config/service_config.ts';
import { createKafka } from '#infra/kafka/client.ts';
import { applyAcls } from '#infra/kafka/provision.ts';
import { asLogin, type LoginPart } from '#infra/rights/logins.ts';
import { issueSecret } from '#pipelines/settings/admin_tokens.ts';
import { LOCAL_PROCESS_USERS, loginsOf } from '#services/local/parts/clickhouse/users.ts';
import { type LocalParts, startParts } from '#services/local/parts/parts.ts';
import { applyLogins } from '#services/local/start/rotation.ts';
import { kafkaKeeper, redisKeeper } from '#services/stage/passwords.ts';
import { type Command, type Ended, runCommand, startCommand } from '#test/harness/command.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { quiet } from '#test/harness/kafka.ts';
import { discard } from '#test/harness/parts.ts';
import { storedIds, untilStored } from '#test/harness/stored_rows.ts';
import { until } from '#test/harness/until.ts';

const START_MS = 480_000;
const PAUSE_MS = 50;
/** Of those who sign in; the warehouse uses Kafka alone of the two. */
const MAINS = ['control', 'edge', 'dedup', 'identity', 'warehouse'];

let dataDir: string;
let folder: string;
let parts: LocalParts;
let token: string;
/** As who may manage users. */
let owner: Record<string, string>;
const running = new Map<string, Command>();

/** As deploy/environment has them: what all are told, and what one is. */
const envOf = (name: string): Record<string, string> => ({
  ...(parseEnv(readFileSync(join(folder, 'settings.env'), 'utf8')) as Record<string, string>),
  ...(parseEnv(readFileSync(join(folder, `${name}.env`), 'utf8')) as Record<string, string>),
});

function writeEnv(name: string, variables: Record<string, string>): void {
  const lines = Object.entries(variables).map(([variable, value]) => `${variable}=${value}\n`);
  writeFileSync(join(folder, `${name}.env`), lines.join(''), { mode: 0o600 });
}

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'logins-'));
  folder = join(dataDir, 'environment');
  mkdirSync(folder);
  parts = await startParts({ dataDir, external: {}, onProgress: () => undefined, onPartExit: () => undefined });
  const { kafkaBrokers, registryUrl, redisUrl, clickhouseUrl } = parts.addresses;
  owner = {
    KAFKA_BROKERS: kafkaBrokers,
    SCHEMA_REGISTRY_URL: registryUrl,
    REDIS_URL: redisUrl,
    CLICKHOUSE_URL: clickhouseUrl,
    EVENT_PARTITIONS: '2',
    IDENTITY_SECRET: randomBytes(32).toString('base64'),
  };
  const logins = loginsOf(dataDir, parts.addresses).kafka;
  if (logins === null) throw new Error('the parts have no logins');
  const kafka = createKafka(partsConfig(owner).kafka, 'test', quiet);
  await applyLogins(kafka, logins);
  await applyAcls(kafka, LOCAL_PROCESS_USERS, 'svc');
  expect((await runCommand('services/provision/main.ts', [], owner)).code).toBe(0);
  token = issueSecret('all', randomBytes).secret;
  const { IDENTITY_SECRET = '', EVENT_PARTITIONS = '' } = owner;
  writeEnv('settings', {
    ...{
      KAFKA_BROKERS: logins.brokers,
      KAFKA_SASL_MECHANISM: `"${logins.mechanism}"`,
      SCHEMA_REGISTRY_URL: registryUrl,
    },
    ...{ IDENTITY_SECRET, EVENT_PARTITIONS, CLICKHOUSE_URL: clickhouseUrl, EDGE_PORT: '0', CONTROL_PORT: '0' },
    ...{ SECRETS_KEYS: `k1:${randomBytes(32).toString('base64')}`, CONTROL_FIRST_TOKEN_SHA256: hash('sha256', token) },
  });
  const redis = loginsOf(dataDir, parts.addresses).redis ?? {};
  for (const name of MAINS) {
    const user = `svc_${name}`;
    const REDIS_URL = asLogin(redisUrl, user, redis[user] ?? '');
    const KAFKA_SASL_PASSWORD = logins.passwords[user] ?? '';
    writeEnv(name, {
      ...{ KAFKA_SASL_USERNAME: user, KAFKA_SASL_PASSWORD },
      ...(name === 'warehouse' ? {} : { REDIS_URL }),
    });
    running.set(name, startCommand(`services/${name}/main.ts`, [], envOf(name)));
  }
}, START_MS);

afterAll(async () => {
  for (const { child } of running.values()) child.kill('SIGKILL');
  await discard(parts);
  rmSync(dataDir, { recursive: true, maxRetries: 5 });
}, START_MS);

/** What a process says when it is ready. */
async function readyLine(name: string, field: string): Promise<string> {
  const found = await until(
    `${name} ready`,
    () => new RegExp(`"${field}":"?([^",}]+)`).exec(running.get(name)?.output() ?? ''),
    (match) => match !== null,
  );
  return found?.[1] ?? '';
}

async function restart(name: string): Promise<void> {
  const { child, ended } = running.get(name) as Command;
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
  running.set(name, startCommand(`services/${name}/main.ts`, [], envOf(name)));
  await readyLine(name, 'metricsPort');
}

const svc = (words: string[], settings: Record<string, string>): Promise<Ended> =>
  runCommand('services/cli/main.ts', words, { ...settings, LOCAL_DIR: dataDir });
const change = (verb: string, part: LoginPart, ...words: string[]): Promise<Ended> =>
  svc(['password', verb, part, '--environment', folder, ...words], owner);

async function control(...words: string[]): Promise<Record<string, unknown>> {
  const url = await readyLine('control', 'url');
  const { code, output } = await svc([...words, '--json'], { SVC_CONTROL_URL: url, SVC_ADMIN_TOKEN: token });
  if (code !== 0) throw new Error(`${words.join(' ')}: ${output}`);
  return JSON.parse(output);
}

async function metricsWords(): Promise<string[]> {
  const ports = await Promise.all(MAINS.map((name) => readyLine(name, 'metricsPort')));
  return ports.flatMap((port) => ['--metrics', `http://127.0.0.1:${port}/metrics`]);
}

/** Which of the files' passwords, as they were then, still let users in. */
async function passwordsLeft(part: LoginPart, then: ReadonlyMap<string, Record<string, string>>): Promise<string[]> {
  const left: string[] = [];
  for (const env of then.values()) {
    const user = env['KAFKA_SASL_USERNAME'] ?? '';
    const { kafka } = partsConfig({ ...owner, ...env, KAFKA_BROKERS: env['KAFKA_BROKERS'] });
    const mechanism = kafka.sasl?.mechanism as 'scram-sha-512';
    const keeper =
      part === 'redis'
        ? await redisKeeper({ redisUrl: owner['REDIS_URL'] ?? '', redisCluster: false })
        : kafkaKeeper(kafka, kafka, mechanism);
    const password =
      part === 'redis' ? new URL(env['REDIS_URL'] ?? 'redis://:none@x').password : (env['KAFKA_SASL_PASSWORD'] ?? '');
    if (await keeper.signsIn(user, password)) left.push(user);
    await keeper.close();
  }
  return left;
}

test('logins of processes elsewhere are changed in two steps, the second of which waits for all of them', {
  timeout: 900_000,
}, async () => {
  await control('account', 'create', 'acme', '--allowance', '100000');
  await control('site', 'create', 'shop', '--account', 'acme', '--country', 'US');
  const { secret: key } = await control('key', 'create', '--site', 'shop', '--caller', 'server');
  const accepted: string[] = [];
  const statuses = new Set<number>();
  let isOver = false;
  const flowing = (async () => {
    for (; !isOver; await sleep(PAUSE_MS)) {
      const event = newEvent();
      await until('accepted', async () => {
        const { status } = await postEvents(await readyLine('edge', 'url'), String(key), [event]);
        statuses.add(status);
        return status === 200;
      });
      accepted.push(event.uuid);
    }
  })();
  const texts: string[] = [];
  for (const part of ['redis', 'kafka'] as const) {
    const before = new Map(MAINS.map((name) => [name, envOf(name)]));
    // Killed at any moment it goes on when it is run again.
    for (const killedMs of [400, 1_200, 2_500]) {
      const { child, ended } = startCommand(
        'services/cli/main.ts',
        ['password', 'rotate', part, '--environment', folder],
        owner,
      );
      setTimeout(() => child.kill('SIGKILL'), killedMs);
      if ((await ended).code === 0) break;
    }
    const rotated = await change('rotate', part);
    // Of a round that was not killed.
    if (rotated.code !== 0) expect(rotated.output).toContain('rotation_unfinished');
    const after = new Map(MAINS.map((name) => [name, envOf(name)]));
    const users = part === 'redis' ? MAINS.slice(0, 4) : MAINS;
    expect(await passwordsLeft(part, before)).toEqual(users.map((name) => `svc_${name}`));
    expect(await passwordsLeft(part, after)).toEqual(users.map((name) => `svc_${name}`));

    const early = await change('finish', part, ...(await metricsWords()));
    expect(early.output).toContain('password_in_use');
    for (const name of MAINS) {
      if (name === 'dedup') {
        const half = await change('finish', part, ...(await metricsWords()));
        expect(half.output).toContain('password_in_use');
      }
      await restart(name);
    }
    const finished = await change('finish', part, ...(await metricsWords()));
    expect(finished).toMatchObject({ code: 0, output: expect.stringContaining('have one password each') });
    expect(await passwordsLeft(part, before)).toEqual([]);
    expect(await passwordsLeft(part, after)).toEqual(users.map((name) => `svc_${name}`));
    const again = await change('finish', part, '--force');
    expect(again).toMatchObject({ code: 0, output: finished.output });
    texts.push(rotated.output, early.output, finished.output);
    const sent = accepted.length;
    await until('more events accepted', () => accepted.length > sent + 10);
    const secrets = [...before.values(), ...after.values()].flatMap((env) =>
      [env['KAFKA_SASL_PASSWORD'] ?? '', new URL(env['REDIS_URL'] ?? 'redis://x').password].filter((one) => one !== ''),
    );
    const logs = [...running.values()].map(({ output }) => output());
    expect(secrets.filter((secret) => [...texts, ...logs].some((text) => text.includes(secret)))).toEqual([]);
  }
  isOver = true;
  await flowing;
  const stored = { ready: { clickhouse: parts.addresses.clickhouseUrl } };
  await untilStored(stored, 'shop', accepted.length);
  expect((await storedIds(stored, 'shop')).sort()).toEqual([...accepted].sort());
  expect([...statuses]).toEqual([200]);
  const names = readdirSync(folder).sort();
  expect(names).toEqual([...MAINS, 'settings'].map((name) => `${name}.env`).sort());
  expect(names.filter((name) => (statSync(join(folder, name)).mode & 0o077) !== 0)).toEqual([]);
});
