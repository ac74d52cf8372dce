import { hash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { issueSecret } from '#pipelines/settings/admin_tokens.ts';
import { type LocalParts, startParts } from '#services/local/parts/parts.ts';
import { type Command, type Ended, runCommand, startCommand } from '#test/harness/command.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { discard } from '#test/harness/parts.ts';
import { storedIds } from '#test/harness/stored_rows.ts';
import { until } from '#test/harness/until.ts';
import { deliveredIds, startWebhookReceiver, type WebhookReceiver } from '#test/harness/webhook_receiver.ts';

const STARTED_MS = 120_000;
const PROCESS_STOP_MS = 25_000;
const PARTITIONS = '3';
const MAINS = ['control', 'edge', 'dedup', 'quota', 'identity', 'warehouse', 'delivery'];

let dataDir: string;
let parts: LocalParts;
let receiver: WebhookReceiver;
let env: Record<string, string>;
let token: string;
const running: Command[] = [];

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'external-'));
  receiver = await startWebhookReceiver();
  parts = await startParts({ dataDir, external: {}, onProgress: () => undefined, onPartExit: () => undefined });
  token = issueSecret('all', randomBytes).secret;
  env = {
    KAFKA_BROKERS: parts.addresses.kafkaBrokers,
    SCHEMA_REGISTRY_URL: parts.addresses.registryUrl,
    REDIS_URL: parts.addresses.redisUrl,
    CLICKHOUSE_URL: parts.addresses.clickhouseUrl,
    EVENT_PARTITIONS: PARTITIONS,
    IDENTITY_SECRET: randomBytes(32).toString('base64'),
    SECRETS_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    DELIVERY_DESTINATION: 'webhook',
    EGRESS_ALLOW_LOOPBACK: 'true',
    EDGE_PORT: '0',
    CONTROL_PORT: '0',
    CONTROL_FIRST_TOKEN_SHA256: hash('sha256', token),
  };
}, STARTED_MS);

afterAll(async () => {
  for (const { child } of running) child.kill('SIGKILL');
  await discard(parts);
  await receiver.close();
  rmSync(dataDir, { recursive: true, maxRetries: 5 });
}, STARTED_MS);

const provision = (settings: Record<string, string> = {}): Promise<Ended> =>
  runCommand('services/provision/main.ts', [], { ...env, ...settings });

test('provisioning makes what is missing, and a second time nothing', async () => {
  const first = await provision();
  expect(first).toEqual({
    code: 0,
    output: expect.stringMatching(/^\d+ topics created\n\d+ migrations applied\n\d+ dictionaries read [a-z ]+\n$/),
  });
  expect(await provision()).toEqual({ code: 0, output: 'everything is there\n' });
});

test('a topic that differs from its declaration is reported and left as it is', async () => {
  const differing = await provision({ EVENT_PARTITIONS: '5' });
  expect(differing.code).toBe(1);
  expect(differing.output).toContain('MISMATCH (left as it is): topic events.raw: partitions is 3, declared 5\n');
  expect(await provision()).toEqual({ code: 0, output: 'everything is there\n' });
});

test('the edge and every pipeline run with only environment variables', { timeout: STARTED_MS }, async () => {
  running.push(...MAINS.map((name) => startCommand(`services/${name}/main.ts`, [], env)));
  const site = `env-${randomUUID().slice(0, 8)}`;
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  await svc('account', 'create', site, '--allowance', '1000');
  await svc('site', 'create', site, '--account', site);
  await svc(
    'destination',
    'create',
    'webhook',
    '--site',
    site,
    '--set',
    `url=${receiver.url}`,
    '--secret',
    `secret=${secret}`,
  );
  const key = await svc('key', 'create', '--site', site, '--caller', 'server');
  const edge = await addressOf('edge');

  const event = newEvent({ event: 'purchase' });
  const accepted = () => postEvents(edge, String(key['secret']), [event]);
  await until('accepted', accepted, ({ status }) => status === 200, { timeoutMs: 30_000 });
  const ready = { clickhouse: parts.addresses.clickhouseUrl };
  const seen = async () => [await storedIds({ ready }, site), deliveredIds(receiver)];
  const isThere = (ids: string[][]): boolean => ids.every((one) => one.length > 0);
  expect(await until('the row and the delivery', seen, isThere, { timeoutMs: 30_000 })).toEqual([
    [event.uuid],
    [event.uuid],
  ]);
});

test('each of them stops on SIGTERM with exit code 0', { timeout: PROCESS_STOP_MS }, async () => {
  for (const { child } of running) child.kill('SIGTERM');
  const codes = await Promise.all(running.map(async ({ ended }) => (await ended).code));
  expect(codes).toEqual(MAINS.map(() => 0));
});

async function svc(...words: string[]): Promise<Record<string, unknown>> {
  const { code, output } = await runCommand('services/cli/main.ts', [...words, '--json'], {
    SVC_CONTROL_URL: await addressOf('control'),
    SVC_ADMIN_TOKEN: token,
    LOCAL_DIR: dataDir,
  });
  if (code !== 0) throw new Error(`${words.join(' ')}: ${output}`);
  return JSON.parse(output);
}

/** Where a process says that it listens. */
async function addressOf(name: string): Promise<string> {
  const log = (): string => running[MAINS.indexOf(name)]?.output() ?? '';
  const found = await until(
    `${name} ready`,
    () => /"url":"([^"]+)"/.exec(log()),
    (match) => match !== null,
    { timeoutMs: 60_000 },
  );
  return found?.[1] ?? '';
}
