import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { PERSON_DICTIONARIES, reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { partsConfig } from '#infra/config/service_config.ts';
import { createKafka, withAdmin } from '#infra/kafka/client.ts';
import type { LoginPart } from '#infra/rights/logins.ts';
import { credentialsPath, readListeners, readPasswords } from '#services/local/parts/clickhouse/users.ts';
import { type Command, startCommand } from '#test/harness/command.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { quiet } from '#test/harness/kafka.ts';
import { descendantsOf, isAlive } from '#test/harness/processes.ts';
import { type RunningService, startService } from '#test/harness/service.ts';
import { readyProcess } from '#test/harness/service_process.ts';
import { storedIds, untilStored } from '#test/harness/stored_rows.ts';
import { until } from '#test/harness/until.ts';

const START_MS = 480_000;
const TEST_MS = 1_200_000;
const PAUSE_MS = 50;
const EVENTS = 5;

let dataDir: string;
let service: RunningService;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'passwords-'));
  service = await startService(dataDir, { timeoutMs: START_MS });
}, START_MS);

afterAll(async () => {
  await service.stop();
  rmSync(dataDir, { recursive: true, maxRetries: 5 });
}, 120_000);

const svc = (...words: string[]): Command => startCommand('services/cli/main.ts', words, { LOCAL_DIR: dataDir });
const passwordsOf = (part: LoginPart) => readPasswords(credentialsPath(dataDir, part));
const ready = (): RunningService['ready'] => JSON.parse(readFileSync(join(dataDir, 'ready.json'), 'utf8'));

/** Sends events until it is ended; what was accepted, and every other answer. */
function sendEvents() {
  const [accepted, others]: [string[], number[]] = [[], []];
  let isOver = false;
  const sending = (async () => {
    for (; !isOver; await sleep(PAUSE_MS)) {
      const events = Array.from({ length: EVENTS }, () => newEvent());
      // The same events until they are accepted: an edge that is started anew refuses connections.
      await until('accepted', async () => {
        const status = await postEvents(service.ready.edge, service.ready.serverKey, events).then(
          (answer) => answer.status,
          () => 0,
        );
        if (status !== 200) others.push(status);
        return status === 200;
      });
      accepted.push(...events.map(({ uuid }) => uuid));
    }
  })();
  return {
    accepted,
    others,
    async end() {
      isOver = true;
      await sending;
    },
  };
}

/** Whether a user is let in at a part by a password, over a new connection. */
async function letsIn(part: LoginPart, user: string, password: string): Promise<boolean> {
  const { redis, clickhouse } = ready();
  if (part === 'redis') {
    const socket = connect(Number(new URL(redis).port), '127.0.0.1');
    socket.write(`AUTH ${user} ${password}\r\n`);
    const [answer] = await once(socket, 'data');
    socket.destroy();
    return String(answer).startsWith('+OK');
  }
  if (part === 'clickhouse') {
    const login = Buffer.from(`${user}:${password}`).toString('base64');
    const url = new URL(clickhouse).origin;
    const answer = await fetch(url, { method: 'POST', body: 'SELECT 1', headers: { authorization: `Basic ${login}` } });
    return answer.status !== 403;
  }
  const brokers = readListeners(dataDir)?.saslBrokers.split(',') ?? [];
  const attempts = (['scram-sha-256', 'scram-sha-512'] as const).map((mechanism) => {
    const config = { ...kafkaConfig(), brokers, sasl: { mechanism, username: user, password } };
    return withAdmin(createKafka(config, 'test', quiet, 0), async () => true).catch(() => false);
  });
  return (await Promise.all(attempts)).includes(true);
}

const kafkaConfig = () =>
  partsConfig({
    KAFKA_BROKERS: service.ready.kafka,
    SCHEMA_REGISTRY_URL: service.ready.registry,
    REDIS_URL: service.ready.redis,
    CLICKHOUSE_URL: service.ready.clickhouse,
  }).kafka;

/** Asks both dictionaries, as every query of `events` does, and has them loaded again. */
async function askDictionaries(): Promise<void> {
  const warehouse = createWarehouse(ready().clickhouse);
  try {
    await reloadPersons(warehouse);
    const sql = PERSON_DICTIONARIES.map((name) => `dictGet('${name}', 'actor', toUInt64(1))`).join(', ');
    await warehouse.query({ query: `SELECT ${sql}, (SELECT count() FROM events WHERE person_id = '') AS rows` });
  } finally {
    await warehouse.close();
  }
}

/** Old and new passwords are in nothing that is said or logged. */
function expectUnsaid(said: readonly string[], passwords: readonly string[]): void {
  const logs = readdirSync(join(dataDir, 'log')).map((name) => readFileSync(join(dataDir, 'log', name), 'utf8'));
  const texts = [...said, ...logs, service.output()];
  expect(passwords.filter((password) => texts.some((text) => text.includes(password)))).toEqual([]);
}

test('passwords of all parts are changed in traffic: none is lost or doubled, and the old ones are refused', {
  timeout: TEST_MS,
}, async () => {
  const flow = sendEvents();
  const said: string[] = [];
  const secrets: string[] = [];
  for (const part of ['redis', 'kafka', 'clickhouse'] as const) {
    const before = passwordsOf(part);
    const sent = flow.accepted.length;
    const { code, output } = await svc('password', 'rotate', part).ended;
    expect(output).toContain('the old ones are refused');
    expect(code).toBe(0);
    said.push(output);
    const after = passwordsOf(part);
    const users =
      part === 'kafka' ? ['svc_edge', 'svc_warehouse'] : ['svc', part === 'redis' ? 'svc_edge' : 'svc_warehouse'];
    for (const user of users) {
      expect(await letsIn(part, user, before[user] ?? ''), `${part}: old of ${user}`).toBe(false);
      expect(await letsIn(part, user, after[user] ?? ''), `${part}: new of ${user}`).toBe(true);
    }
    secrets.push(...Object.values(before), ...Object.values(after));
    await until('more events accepted', () => flow.accepted.length > sent + EVENTS);
    await askDictionaries();
  }
  for (const name of ['edge', 'dedup']) {
    const process_ = await readyProcess(service, name);
    process.kill(process_.pid, 'SIGKILL');
    await readyProcess(service, name, process_);
  }
  const redis = ready().parts['redis']?.pid;
  process.kill(redis ?? 0, 'SIGKILL');
  await until('Redis started again', () => (ready().parts['redis']?.pid ?? redis) !== redis);
  const sent = flow.accepted.length;
  await until('more events accepted', () => flow.accepted.length > sent + EVENTS);
  await flow.end();

  const { site, clickhouse } = { ...service.ready, clickhouse: ready().clickhouse };
  await untilStored({ ready: { clickhouse } }, site, flow.accepted.length);
  const stored = (await storedIds({ ready: { clickhouse } }, site)).filter((id) => flow.accepted.includes(id));
  expect(stored.sort()).toEqual([...flow.accepted].sort());
  expect(flow.others.filter((status) => status !== 0)).toEqual([]);
  const doctor = await svc('doctor', '--json').ended;
  const { checks } = JSON.parse(doctor.output) as { checks: { check: string; state: string }[] };
  const ofPasswords = checks.filter(({ check }) => check.endsWith('.passwords'));
  expect(ofPasswords.map(({ check, state }) => `${check} ${state}`).sort()).toEqual([
    'clickhouse.passwords ok',
    'kafka.passwords ok',
    'redis.passwords ok',
  ]);
  expectUnsaid([...said, doctor.output], secrets);
});

test('a start that is killed while passwords change leaves whole ones, and the next goes on with them', {
  timeout: TEST_MS,
}, async () => {
  const before = passwordsOf('kafka');
  const asking = svc('password', 'rotate', 'kafka');
  await until('processes are started anew', () => asking.output().includes('starting the processes'), Boolean, {
    timeoutMs: START_MS,
  });
  const all = descendantsOf(service.pid);
  service.kill('SIGKILL');
  asking.child.kill('SIGKILL');
  await until('all gone', () => !all.some(isAlive), Boolean, { timeoutMs: START_MS });
  service = await startService(dataDir, { timeoutMs: START_MS });
  const after = passwordsOf('kafka');
  expect(after['svc_edge']).not.toBe(before['svc_edge']);
  expect(await letsIn('kafka', 'svc_edge', before['svc_edge'] ?? '')).toBe(false);
  expect(await letsIn('kafka', 'svc_edge', after['svc_edge'] ?? '')).toBe(true);
  const sent = newEvent();
  expect(await postEvents(service.ready.edge, service.ready.serverKey, [sent])).toMatchObject({ status: 200 });
  await until('it is stored', async () => (await storedIds(service, service.ready.site)).includes(sent.uuid));
  expect(JSON.parse(readFileSync(join(dataDir, 'rotation.json'), 'utf8'))).toMatchObject({ state: 'failed' });
});
