import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type KafkaConfig, partsConfig } from '#infra/config/service_config.ts';
import { createKafka, openKafka, withAdmin } from '#infra/kafka/client.ts';
import { explicitPartitioner } from '#infra/kafka/producers.ts';
import { applyAcls } from '#infra/kafka/provision.ts';
import { setScram } from '#infra/kafka/scram.ts';
import {
  credentialsOf,
  credentialsPath,
  LOCAL_PROCESS_USERS,
  listenersPath,
} from '#services/local/parts/clickhouse/users.ts';
import { type JavaProgram, planKafka } from '#services/local/parts/kafka.ts';
import { choosePorts, LocalPart } from '#services/local/parts/part.ts';
import { installParts, type LocalParts, startParts } from '#services/local/parts/parts.ts';
import { planRedis } from '#services/local/parts/redis.ts';
import { runCommand } from '#test/harness/command.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { kafkaOf, quiet } from '#test/harness/kafka.ts';
import { NOWHERE } from '#test/harness/own_parts.ts';
import { discard } from '#test/harness/parts.ts';
import { type RunningService, startService } from '#test/harness/service.ts';
import { storedIds, untilStored } from '#test/harness/stored_rows.ts';

const START_MS = 400_000;
const HOST = '127.0.0.1';
const ADMIN = 'admin';
const SECURITY = 'org.apache.kafka.common.security';

const dir = mkdtempSync(join(tmpdir(), 'secure-'));
const certificate = join(dir, 'certificate.pem');
const password = randomBytes(12).toString('base64url');
const running: {
  parts: LocalPart[];
  local?: LocalParts;
  service?: RunningService;
  proxy?: ReturnType<typeof createServer>;
} = {
  parts: [],
};
let brokers: { plain: string; secure: string };
let env: Record<string, string>;
let innerUrl: string;

/** A key, and a certificate that it has signed itself: its own authority. */
function makeCertificate(): { key: string; cert: string } {
  const key = join(dir, 'key.pem');
  const words = [
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    key,
    '-out',
    certificate,
    '-days',
    '2',
    '-subj',
    '/CN=localhost',
  ];
  execFileSync('openssl', ['req', '-x509', ...words, '-addext', `subjectAltName=IP:${HOST},DNS:localhost`], {
    stdio: 'ignore',
  });
  writeFileSync(join(dir, 'both.pem'), readFileSync(key, 'utf8') + readFileSync(certificate, 'utf8'));
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(certificate, 'utf8') };
}

/** A broker that asks processes for TLS and a login, and lets them do what the rights say. */
async function startBroker(program: JavaProgram): Promise<{ plain: string; secure: string }> {
  const ports = await choosePorts(dir, ['plain', 'secure', 'controller']);
  const [plain, secure] = [`${HOST}:${ports.plain}`, `${HOST}:${ports.secure}`];
  const folder = join(dir, 'kafka');
  const node = { name: 'kafka' as const, folder, port: ports.plain, nodeId: 1, controllerPorts: [ports.controller] };
  const plan = await planKafka(node, join(dir, 'log', 'kafka.log'), program);
  const users = LOCAL_PROCESS_USERS.map(({ user }) => user);
  const passwords = Object.entries(credentialsOf(credentialsPath(dir, 'kafka'), users));
  const settings = {
    listeners: `PLAINTEXT://${plain},SECURE://${secure},CONTROLLER://${HOST}:${ports.controller}`,
    'advertised.listeners': `PLAINTEXT://${plain},SECURE://${secure}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT',
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-512',
    'listener.name.secure.plain.sasl.jaas.config': `${SECURITY}.plain.PlainLoginModule required ${passwords.map(([user, its]) => `user_${user}="${its}"`).join(' ')};`,
    'listener.name.secure.scram-sha-512.sasl.jaas.config': `${SECURITY}.scram.ScramLoginModule required;`,
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': join(dir, 'both.pem'),
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': `User:ANONYMOUS;User:${ADMIN}`,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  appendFileSync(join(folder, 'server.properties'), lines.join(''));
  const part = new LocalPart(plan, () => undefined);
  running.parts.push(part);
  await part.start();
  const owned = {
    [ADMIN]: password,
    svc_quota: credentialsOf(credentialsPath(dir, 'kafka'), users)['svc_quota'] ?? '',
  };
  const scram = Object.entries(owned).map(([user, its]) => ({
    ...{ user, mechanism: 'scram-sha-512' as const, password: its },
  }));
  await setScram(kafkaOf(plain), scram, randomBytes);
  return { plain, secure };
}

/** Redis with TLS alone. */
async function startRedis(program: Parameters<typeof planRedis>[2], files: { key: string }): Promise<string> {
  const { redis: port } = await choosePorts(dir, ['redis']);
  const plan = planRedis(dir, port, program);
  const tls = {
    'tls-port': String(port),
    'tls-cert-file': certificate,
    'tls-key-file': files.key,
    'tls-ca-cert-file': certificate,
    'tls-auth-clients': 'no',
  };
  const url = plan.address.replace('redis://', 'rediss://');
  const client = new Redis(url, {
    lazyConnect: true,
    tls: { ca: readFileSync(certificate) },
    retryStrategy: () => 100,
  });
  client.on('error', () => undefined);
  const part = new LocalPart(
    {
      ...plan,
      args: [...plan.args, '--port', '0', ...Object.entries(tls).flatMap(([name, value]) => [`--${name}`, value])],
      isReady: async () => (await client.ping()) === 'PONG',
    },
    () => undefined,
  );
  running.parts.push(part);
  await part.start();
  client.disconnect();
  return url;
}

/** The local ClickHouse speaks no TLS: what ends it before the server is the same to a client. */
async function wrapClickhouse(url: string, { key, cert }: { key: string; cert: string }): Promise<string> {
  const inner = Number(new URL(url).port);
  const { https } = await choosePorts(dir, ['https']);
  const proxy = createServer({ key, cert }, (outer) => {
    const socket = connect(inner, HOST);
    outer.pipe(socket).pipe(outer);
    const end = (): void => {
      outer.destroy();
      socket.destroy();
    };
    for (const one of [outer, socket]) one.on('error', end);
  });
  await new Promise<void>((resolve) => proxy.listen(https, HOST, resolve));
  running.proxy = proxy;
  return url.replace('http://', 'https://').replace(`:${inner}`, `:${https}`);
}

const configOf = (more: Record<string, string>): KafkaConfig => partsConfig({ ...env, ...more }).kafka;
const asUser = (user: string, its = password): KafkaConfig =>
  configOf({ KAFKA_SASL_MECHANISM: 'scram-sha-512', KAFKA_SASL_USERNAME: user, KAFKA_SASL_PASSWORD: its });

beforeAll(async () => {
  const pair = makeCertificate();
  mkdirSync(join(dir, 'log'), { recursive: true });
  const { kafka, redis } = await installParts(new Set(['kafka', 'redis']), () => undefined);
  if (kafka === undefined || redis === undefined) throw new Error('the parts were not installed');
  mkdirSync(join(dir, 'kafka'), { recursive: true });
  brokers = await startBroker(kafka);
  const redisUrl = await startRedis(redis, { key: join(dir, 'key.pem') });
  running.local = await startParts({
    dataDir: join(dir, 'parts'),
    external: { kafkaBrokers: brokers.plain, redisUrl: NOWHERE.redisUrl },
    onProgress: () => undefined,
    onPartExit: () => undefined,
  });
  const { registryUrl, clickhouseUrl } = running.local.addresses;
  innerUrl = clickhouseUrl;
  env = {
    KAFKA_BROKERS: brokers.secure,
    KAFKA_TLS: 'true',
    KAFKA_TLS_CA_FILE: certificate,
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: ADMIN,
    KAFKA_SASL_PASSWORD: password,
    SCHEMA_REGISTRY_URL: registryUrl,
    REDIS_URL: redisUrl,
    CLICKHOUSE_URL: await wrapClickhouse(clickhouseUrl, pair),
    // Of Redis and ClickHouse, as of whatever Node speaks to.
    NODE_EXTRA_CA_CERTS: certificate,
  };
}, START_MS);

afterAll(async () => {
  await running.service?.stop();
  if (running.local !== undefined) await discard(running.local);
  for (const part of running.parts) part.kill('SIGKILL');
  await Promise.all(running.parts.map((part) => part.stop()));
  running.proxy?.close();
  rmSync(dir, { recursive: true, maxRetries: 5 });
}, 120_000);

test('the service runs on parts that ask for TLS and a login, each process with its own rights', {
  timeout: START_MS,
}, async () => {
  const dataDir = join(dir, 'service');
  mkdirSync(join(dataDir, 'kafka'), { recursive: true });
  // With these each process is a user of its own, whom the administrator gives its password.
  writeFileSync(listenersPath(dataDir), JSON.stringify({ brokers: brokers.secure, saslBrokers: brokers.secure }));
  writeFileSync(credentialsPath(dataDir, 'kafka'), readFileSync(credentialsPath(dir, 'kafka')));
  const service = await startService(dataDir, { env, timeoutMs: START_MS });
  running.service = service;
  const { edge, serverKey, site } = service.ready;
  const sent = newEvent();
  expect(await postEvents(edge, serverKey, [sent])).toMatchObject({ status: 200 });
  // This process trusts no authority of the test's: it asks ClickHouse behind what ends TLS.
  const asked = { ...service, ready: { ...service.ready, clickhouse: innerUrl } };
  await untilStored(asked, site, 1);
  expect(await storedIds(asked, site)).toEqual([sent.uuid]);
});

test('what keeps a client out is said: a wrong password, an unknown authority, no TLS', {
  timeout: 120_000,
}, async () => {
  const open = (config: KafkaConfig): Promise<unknown> =>
    withAdmin(createKafka(config, 'test', quiet, 2), async () => 'in');
  expect(await open(asUser(ADMIN))).toBe('in');
  const wrong = randomBytes(9).toString('base64url');
  await expect(open(asUser(ADMIN, wrong))).rejects.toMatchObject({ code: 'kafka_login_refused' });
  await expect(open(asUser(ADMIN, wrong))).rejects.not.toThrow(wrong);
  const plainLogin = { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'svc_edge', KAFKA_SASL_PASSWORD: wrong };
  await expect(open(configOf(plainLogin))).rejects.toMatchObject({ code: 'kafka_login_refused' });
  const unknown = { code: 'kafka_certificate_untrusted' };
  await expect(open(configOf({ KAFKA_TLS_CA_FILE: '' }))).rejects.toMatchObject(unknown);
  await expect(open(configOf({ KAFKA_BROKERS: brokers.plain }))).rejects.toMatchObject({ code: 'kafka_not_tls' });
  // A process says so in the line with which it ends.
  const settings = { ...env, KAFKA_SASL_PASSWORD: wrong, IDENTITY_SECRET: randomBytes(32).toString('base64') };
  const { code, output } = await runCommand('services/quota/main.ts', [], settings);
  expect(code).toBe(1);
  expect(output).toContain('kafka_login_refused');
  expect(output).not.toContain(wrong);
});

test('a process may do what its rights say, by SCRAM, and no more', { timeout: 120_000 }, async () => {
  const users = LOCAL_PROCESS_USERS.filter(({ user }) => user === 'svc_quota');
  await applyAcls(createKafka(asUser(ADMIN), 'test', quiet), users, 'svc');
  const session = await openKafka(
    asUser('svc_quota', credentialsOf(credentialsPath(dir, 'kafka'), [])['svc_quota']),
    'test',
    quiet,
  );
  const producer = session.kafka.producer({ createPartitioner: explicitPartitioner, retry: { retries: 0 } });
  try {
    await producer.connect();
    const send = (topic: string) => producer.send({ topic, acks: -1, messages: [{ partition: 0, value: 'x' }] });
    await expect(send('dead.quota')).resolves.toMatchObject([{ topicName: 'dead.quota', errorCode: 0 }]);
    await expect(send('events.raw')).rejects.toMatchObject({ type: 'TOPIC_AUTHORIZATION_FAILED' });
    const offsets = (groupId: string) => session.admin.fetchOffsets({ groupId, topics: ['quota.counts'] });
    await expect(offsets('svc.quota')).resolves.toMatchObject([{ topic: 'quota.counts' }]);
    // All that the client says of a group that it may not see.
    await expect(offsets('svc.dedup')).rejects.toMatchObject({ name: 'KafkaJSGroupCoordinatorNotFound' });
  } finally {
    await producer.disconnect();
    await session.stop();
  }
});
