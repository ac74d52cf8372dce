import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Producer } from 'kafkajs';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { partsConfig } from '#infra/config/service_config.ts';
import { type KafkaSession, openKafka } from '#infra/kafka/client.ts';
import { explicitPartitioner } from '#infra/kafka/producers.ts';
import { createRedis, type Redis } from '#infra/redis/connection.ts';
import { createRegistry, type Registry } from '#infra/registry/schema_registry.ts';
import { type LocalParts, startParts } from '#services/local/parts/parts.ts';
import { serviceEnvironment } from '#services/local/start/config.ts';
import { provision } from '#services/stage/provision.ts';
import type { ReadyMessage } from '#services/stage/runtime.ts';
import { childEnvironment } from '#test/harness/environment.ts';
import { quiet } from '#test/harness/kafka.ts';
import { discard } from '#test/harness/parts.ts';
import { until } from '#test/harness/until.ts';

/** Real parts on which a test runs single stages as processes of their own. */
export interface StageWorld {
  parts: LocalParts['parts'];
  env: Record<string, string>;
  session: KafkaSession;
  producer: Producer;
  registry: Registry;
  redis: Redis;
  eventPartitions: number;
}

const START_MS = 240_000;
const STOP_MS = 60_000;
/** What a process that was told to end may take. */
const LEAVE_MS = 4_000;

/** Parts with everything provisioned, for the tests of one file. */
export function useStageWorld(settings: Record<string, string> = {}): () => StageWorld {
  let world: StageWorld | undefined;
  let parts: LocalParts | undefined;
  let dataDir = '';
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'stages-'));
    parts = await startParts({
      dataDir,
      external: {},
      onProgress: () => undefined,
      onPartExit: () => undefined,
    });
    const env = { ...(await serviceEnvironment(dataDir, parts.addresses)), METRICS_PORT: '0', ...settings };
    const config = partsConfig(env);
    await provision(config, quiet);
    const session = await openKafka(config.kafka, 'svc.test', quiet);
    const producer = session.kafka.producer({ createPartitioner: explicitPartitioner, allowAutoTopicCreation: false });
    await producer.connect();
    world = {
      parts: parts.parts,
      env,
      session,
      producer,
      registry: createRegistry(config.registryUrl),
      redis: createRedis(config.redisUrl, quiet),
      eventPartitions: config.kafka.eventPartitions,
    };
  }, START_MS);
  afterAll(async () => {
    world?.redis.disconnect();
    await world?.producer.disconnect();
    await world?.session.stop();
    if (parts !== undefined) await discard(parts);
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }, STOP_MS);
  return () => {
    if (world === undefined) throw new Error('the world is there only inside tests');
    return world;
  };
}

/** A stage's process. */
export interface StageProcess {
  readonly pid: number;
  /** Resolves when it says that it is ready. */
  readonly ready: Promise<void>;
  /** Exit code or signal. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  kill(signal: NodeJS.Signals): void;
  /** Its log so far, line by line. */
  log(): LogLine[];
  /** Resolves when a log line has this message. */
  said(message: string, timeoutMs?: number): Promise<void>;
  /** Status of its readiness. */
  readiness(): Promise<number>;
  /** What its readiness names. */
  parts(): Promise<{ waiting_for: string[]; away: string[] }>;
  metrics(): Promise<string>;
}

interface LogLine {
  msg: string;
  [field: string]: unknown;
}

/** Starts a stage; it is ended when the test ends. */
export function startStage(world: StageWorld, name: string, env: Record<string, string> = {}): StageProcess {
  const folder = mkdtempSync(join(tmpdir(), 'stage-'));
  const logPath = join(folder, 'log');
  const log = openSync(logPath, 'a');
  const main = fileURLToPath(new URL(`../../../services/${name}/main.ts`, import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [main], {
    env: childEnvironment({ ...world.env, ...env }),
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  let metricsPort = 0;
  const ready = once(child, 'message').then(([message]) => {
    metricsPort = (message as ReadyMessage).metricsPort ?? 0;
  });
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals | null);
  onTestFinished(async () => {
    // One that leaves its group is not waited for by the next test's, as one that is killed is until its session ends.
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), LEAVE_MS);
    await ended;
    clearTimeout(late);
    rmSync(folder, { recursive: true, force: true });
  });
  const lines = (): LogLine[] =>
    readFileSync(logPath, 'utf8')
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as LogLine] : []));
  const ask = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${metricsPort}${path}`);
  return {
    pid: child.pid ?? -1,
    ready: Promise.race([
      ready,
      ended.then(async (how) => {
        await sleep(50);
        throw new Error(`${name} ended with ${how} before it was ready\n${readFileSync(logPath, 'utf8')}`);
      }),
    ]),
    ended,
    kill: (signal) => void child.kill(signal),
    log: lines,
    async said(message) {
      await until(`${name} says "${message}"`, () => lines().some(({ msg }) => msg === message));
    },
    readiness: async () => (await ask('/ready')).status,
    parts: async () => (await (await ask('/ready')).json()) as { waiting_for: string[]; away: string[] },
    metrics: async () => (await ask('/metrics')).text(),
  };
}
