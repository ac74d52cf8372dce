import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AssignerProtocol } from 'kafkajs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withAdmin } from '#infra/kafka/client.ts';
import { inspectKafka } from '#infra/kafka/inspect.ts';
import { declareTopics } from '#infra/kafka/topics.ts';
import { runCommand } from '#test/harness/command.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { kafkaOf } from '#test/harness/kafka.ts';
import { type RunningService, startRefused, startService } from '#test/harness/service.ts';
import { untilStored } from '#test/harness/stored_rows.ts';
import { until } from '#test/harness/until.ts';

const START_MS = 400_000;
const WORDS = [
  ...['--brokers', '3', '--edges', '2', '--dedup', '3', '--identity', '2', '--quota', '2', '--warehouse', '2'],
  ...['--deliveries', '2'],
];
/** Several of each, under these names beside the first. */
const BESIDE = [
  ...['edge.2', 'dedup.2', 'dedup.3', 'identity.2', 'quota.2', 'warehouse.2', 'delivery.meta.2'],
  ...['delivery.webhook.2'],
];

const dataDir = mkdtempSync(join(tmpdir(), 'brokers-'));
let service: RunningService;
beforeAll(async () => {
  service = await startService(dataDir, { words: WORDS, timeoutMs: START_MS });
}, START_MS + 60_000);
afterAll(async () => {
  await service.stop();
  rmSync(dataDir, { recursive: true, maxRetries: 5 });
}, 60_000);

/** Events through every edge are stored, each once. */
async function send(stored: number): Promise<void> {
  const { edges, serverKey, site } = service.ready;
  const events = [newEvent(), newEvent({ distinct_id: 'other' })];
  // An edge beside the other is as its client sends again.
  for (const edge of edges) expect(await postEvents(edge, serverKey, events)).toMatchObject({ status: 200 });
  await untilStored(service, site, stored + events.length);
}

test('every topic has three copies, of which two acknowledge, and no process stands idle', {
  timeout: 120_000,
}, async () => {
  const { ready } = service;
  expect(ready.kafka.split(',')).toHaveLength(3);
  expect(ready.edges).toHaveLength(2);
  expect(Object.keys(ready.parts)).toEqual(expect.arrayContaining(['kafka', 'kafka.2', 'kafka.3']));
  expect(Object.keys(ready.processes)).toEqual(expect.arrayContaining(BESIDE));
  const kafka = kafkaOf(ready.kafka);
  const names = declareTopics(['meta', 'webhook']).map(({ name }) => name);
  const { topics } = await inspectKafka(kafka, names, [], 'svc');
  expect(topics.size).toBe(names.length);
  const off = [...topics].filter(([, { copies, settings }]) => copies !== 3 || settings['min.insync.replicas'] !== '2');
  expect(off).toEqual([]);
  for (const [group, members] of Object.entries({ 'svc.dedup': 3, 'svc.identity': 2, 'svc.quota': 2 })) {
    const shares = async (): Promise<number[]> => {
      const { groups } = await withAdmin(kafka, (admin) => admin.describeGroups([group]));
      return (groups[0]?.members ?? []).map(
        ({ memberAssignment }) =>
          Object.values(AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment ?? {}).flat().length,
      );
    };
    await until(`${group} to be shared`, shares, (all) => all.length === members && !all.includes(0));
  }
  await send(0);
});

test('status shows each, and doctor finds nothing wrong with the brokers', { timeout: 120_000 }, async () => {
  const svc = (...words: string[]) => runCommand('services/cli/main.ts', words, { LOCAL_DIR: dataDir });
  const status = await svc('status');
  expect({ ...status, lacking: BESIDE.filter((name) => !status.output.includes(name)) }).toMatchObject({
    code: 0,
    lacking: [],
  });
  const { checks } = JSON.parse((await svc('doctor', '--json')).output) as {
    checks: { check: string; state: string }[];
  };
  const ofKafka = checks.filter(({ check }) => check.startsWith('kafka.'));
  expect(ofKafka.length).toBeGreaterThan(5);
  expect(ofKafka.filter(({ state }) => state === 'failure')).toEqual([]);
  expect(ofKafka).toContainEqual(expect.objectContaining({ check: 'kafka.replication', state: 'ok' }));
});

test('the data goes on being that of three brokers, and another number is refused', { timeout: START_MS }, async () => {
  expect(await service.stop()).toBe(0);
  const refused = await startRefused(dataDir, ['--brokers', '1']);
  expect(refused.code).toBe(1);
  expect(refused.output).toContain('local_brokers_differ');
  service = await startService(dataDir, { timeoutMs: START_MS });
  expect(service.ready.kafka.split(',')).toHaveLength(3);
  await send(2);
});
