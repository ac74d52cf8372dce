// The life of every process: configuration, session, metrics, readiness, the parts it uses, and its end.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createProbe, monotonicMs, type ProbeTimes, wallMsOf } from '#infra/concurrency/time_limits.ts';
import { readConfig, warnOfSettings } from '#infra/config/catalogue.ts';
import type { Environment } from '#infra/config/environment.ts';
import type { ProcessConfig, RedisParts, SecondaryRedisParts } from '#infra/config/service_config.ts';
import { armFailpoint } from '#infra/failpoint.ts';
import { createHttpServer, listen } from '#infra/http/http_server.ts';
import { type KafkaSession, openAdmin, openKafka, watchCluster, watchPartitions } from '#infra/kafka/client.ts';
import { createKeyedProducer, type KeyedProducer } from '#infra/kafka/producers.ts';
import { declareTopics } from '#infra/kafka/topics.ts';
import { createLogger, type Logger } from '#infra/log/logger.ts';
import { createMetrics, type Metrics } from '#infra/metrics/metrics.ts';
import { type FollowedErasures, followErasures } from '#infra/persons/erasure_topic.ts';
import { readClock } from '#infra/redis/client.ts';
import { createRedis, nodesOf, type Redis } from '#infra/redis/connection.ts';
import {
  createPatientRegistry,
  createRegistry,
  type Registry,
  watchRegistry,
} from '#infra/registry/schema_registry.ts';
import { loginsIn } from '#infra/rights/logins.ts';
import { type FollowedSettings, followSettings } from '#infra/settings/follow_settings.ts';
import { openTracer, type Tracer } from '#infra/tracing/tracer.ts';
import type { SuppressionList } from '#pipelines/erasure/suppression.ts';

export interface Runtime {
  stage: string;
  config: ProcessConfig;
  logger: Logger;
  metrics: Metrics;
  /** Null where nothing is traced. */
  tracer: Tracer | null;
  session: KafkaSession;
  registry: Registry;
  /** Registers what to stop; run in reverse order on SIGTERM, SIGINT or a failure of start-up. */
  onStop(task: () => Promise<unknown>): void;
  /** Stops the process at once with exit code 1; its supervisor starts it anew. */
  fatal(error: unknown): void;
  /** What `/ready` tells, to which a process adds the parts of its own. */
  parts: Pick<PartStates, 'needs' | 'uses' | 'waitingFor'>;
  /** Whether Kafka answers. */
  clusterAlive(): boolean;
  /** Says that the process does its work now. */
  ready(facts?: Record<string, string | number>): void;
}

export interface ReadyMessage {
  kind: 'ready';
  stage: string;
  /** Where it serves its metrics and its readiness; null where it has none. */
  metricsPort: number | null;
  facts: Record<string, string | number>;
}

/** What a process that fills ClickHouse after a restore says to whoever started it when all is there. */
export interface RefilledMessage {
  kind: 'refilled';
  /** Records and events that made no row, as when they came. */
  leftOut: number;
}

const STOP_MS_MAX = 20_000;
/** How soon it is logged that a part has gone. */
const LOOK_MS = 1_000;

/**
 * Runs one process: reads its configuration with `read`, connects, runs `main`, and stops cleanly on SIGTERM and SIGINT.
 * Whatever is thrown and not handled ends the process. A stage whose name depends on the configuration is given as a
 * function of it.
 */
export function runProcess<C extends ProcessConfig>(
  name: string | ((config: C) => string),
  read: (env: Environment) => C,
  main: (runtime: Runtime, config: C) => Promise<void>,
): void {
  const config = readConfig(read);
  const stage = typeof name === 'string' ? name : name(config);
  const logger = createLogger(stage, config.logLevel);
  warnOfSettings((text) => logger.warn(text));
  armFailpoint(config.failpoint);
  const stops: (() => Promise<unknown>)[] = [];
  let stopping = false;

  function fatal(error: unknown): void {
    logger.fatal({ err: error }, 'stopping: unknown error');
    process.exit(1);
  }

  async function stop(signal: string): Promise<void> {
    if (stopping) return;
    stopping = true;
    logger.info({ signal }, 'stopping');
    setTimeout(() => {
      logger.error('shutdown timed out');
      process.exit(1);
    }, STOP_MS_MAX).unref();
    for (const task of stops.reverse()) {
      await task().catch((error: unknown) => logger.warn({ err: error }, 'a part did not stop cleanly'));
    }
    logger.info('stopped');
    process.exit(0);
  }

  process.on('SIGTERM', () => void stop('SIGTERM'));
  process.on('SIGINT', () => void stop('SIGINT'));
  // The supervisor's end is ours: a process nobody watches must not go on.
  process.on('disconnect', () => void stop('disconnect'));
  process.on('uncaughtException', fatal);
  process.on('unhandledRejection', fatal);
  start(stage, config, logger, { stops, fatal }, (runtime) => main(runtime, config)).catch(fatal);
}

async function start(
  stage: string,
  config: ProcessConfig,
  logger: Logger,
  life: { stops: (() => Promise<unknown>)[]; fatal(error: unknown): void },
  main: (runtime: Runtime) => Promise<void>,
): Promise<void> {
  const { limitUs, socket } = config.systemd;
  const stopTelling = tellSystemd(socket === null ? null : limitUs, () => sayAlive(socket ?? ''), logger);
  life.stops.push(async () => stopTelling());
  const metrics = createMetrics(stage);
  const login = metrics.gauge(
    'svc_login',
    'As whom the process signs in, and the beginning of a digest of its password',
    [...['part', 'user', 'digest', 'process']],
  );
  // Tells processes apart that are reached by several addresses.
  const own = randomBytes(4).toString('hex');
  for (const one of loginsIn(config)) login.set({ ...one, process: own }, 1);
  const tracer = await openTracer(config.tracing, { name: stage, instance: own }, metrics);
  life.stops.push(async () => tracer?.stop());
  const parts = createPartStates(logger, metrics, monotonicMs);
  let hasStarted = false;
  const readyHelp = 'Whether the process does its work: 0 while it starts, or waits for what /ready names';
  metrics.read('svc_ready', readyHelp, [], () => [[{}, hasStarted && parts.waitingFor().length === 0 ? 1 : 0]]);
  const metricsPort = await serveMetrics(config, metrics, () => ({
    waitingFor: [...(hasStarted ? [] : ['start']), ...parts.waitingFor()],
    away: parts.away(),
    since: { ...(hasStarted ? {} : { start: Math.round(performance.timeOrigin) }), ...parts.since() },
  }));
  const registryProbe = watchRegistry(config.parts.registryUrl);
  life.stops.push(async () => registryProbe.stop());
  parts.uses('registry', registryProbe.isAlive);
  const session = await openKafka(config.parts.kafka, `${config.parts.kafka.prefix}.${stage}`, logger);
  life.stops.push(() => session.stop());
  const cluster = watchCluster(() => openAdmin(session.kafka));
  life.stops.push(async () => cluster.stop());
  parts.needs('kafka', cluster.isAlive);
  // Retry topics are the destinations', whose code only their processes load.
  const watch = await watchPartitions(session.admin, declareTopics([], config.parts.kafka), logger);
  life.stops.push(async () => watch.stop());
  parts.needs('partitions', () => watch.lacking().length === 0);
  const differenceHelp = 'Partitions that a topic has beyond those that the process is configured for';
  metrics.read('svc_partitions_difference', differenceHelp, ['topic'], () =>
    watch.mismatches().map(({ topic, configured, found }) => [{ topic }, found - configured]),
  );
  await main({
    stage,
    config,
    logger,
    metrics,
    tracer,
    session,
    registry: createPatientRegistry(createRegistry(config.parts.registryUrl, config.parts.kafka), logger),
    parts,
    clusterAlive: cluster.isAlive,
    onStop: (task) => life.stops.push(task),
    fatal: life.fatal,
    ready(facts = {}) {
      hasStarted = true;
      // What a process waits for when it starts it logs there.
      setInterval(() => parts.look(), LOOK_MS).unref();
      logger.info({ metricsPort, ...facts }, 'ready');
      process.send?.({ kind: 'ready', stage, metricsPort, facts } satisfies ReadyMessage);
    },
  });
}

/** @param state what is in the way of the work, what does not answer and is not needed now, and since when each is so. */
async function serveMetrics(
  config: ProcessConfig,
  metrics: Metrics,
  state: () => { waitingFor: string[]; away: string[]; since: Record<string, number> },
): Promise<number> {
  const server = createHttpServer({ trustedProxies: [], bodyBytesMax: 1024, requestTimeoutMs: 5_000 });
  server.get('/metrics', async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.text()),
  );
  server.get('/ready', (_request, reply) => {
    const { waitingFor, away, since } = state();
    const ready = waitingFor.length === 0;
    return reply.code(ready ? 200 : 503).send({ ready, waiting_for: waitingFor, away, since });
  });
  return listen(server, config.metricsHost, config.metricsPort);
}

type PartStates = ReturnType<typeof createPartStates>;

interface Part {
  isNeeded: boolean;
  isWell(): boolean;
  /** Since when it is away; null while it is well. */
  awayMs: number | null;
}

/** The parts of a process, each with whether it is well. */
export function createPartStates(
  logger: Pick<Logger, 'warn' | 'info'>,
  metrics: Pick<Metrics, 'read'>,
  monotonicMs: () => number,
) {
  const parts = new Map<string, Part>();
  metrics.read('svc_part_up', 'Whether a part that the process uses is well', ['part'], () =>
    [...parts].map(([part, { isWell }]) => [{ part }, isWell() ? 1 : 0]),
  );

  function add(name: string, isNeeded: boolean, isWell: () => boolean): void {
    parts.set(name, { isNeeded, isWell, awayMs: parts.get(name)?.awayMs ?? null });
  }

  function notWell(isNeeded: boolean): string[] {
    return [...parts].flatMap(([name, part]) => (part.isNeeded === isNeeded && !part.isWell() ? [name] : []));
  }

  function lookAt(name: string, part: Part): void {
    const isWell = part.isWell();
    if (isWell === (part.awayMs === null)) return;
    if (part.awayMs === null) {
      part.awayMs = monotonicMs();
      logger.warn({ part: name, waits: part.isNeeded }, 'dependency unavailable');
    } else {
      const seconds = Math.round((monotonicMs() - part.awayMs) / 1_000);
      part.awayMs = null;
      logger.info({ part: name, seconds }, 'dependency available again');
    }
  }

  return {
    /** Adds a part without which the process cannot do its work; another one of the name before it counts no more. */
    needs: (part: string, isWell: () => boolean): void => add(part, true, isWell),
    /** Adds a part that it goes on without, for a while at least. */
    uses: (part: string, isWell: () => boolean): void => add(part, false, isWell),
    /** The parts that are in the way of the work. */
    waitingFor: () => notWell(true),
    /** The others that are not well. */
    away: () => notWell(false),
    /** Since when each of them is not well, in milliseconds since 1970 UTC; those that were not looked at yet are missing. */
    since: (): Record<string, number> =>
      Object.fromEntries(
        [...parts].flatMap(([name, { awayMs }]) => (awayMs === null ? [] : [[name, Math.round(wallMsOf(awayMs))]])),
      ),
    /** Logs what has changed since the last call: one line when a part goes, and one when it returns. */
    look(): void {
      for (const [name, part] of parts) lookAt(name, part);
    },
  };
}

/** Clocks of hosts that are in step differ by far less. */
const CLOCK_MS_MAX = 5_000;

/**
 * A connection to Redis that ends with the process, and whether Redis answers on it. How this host's clock stands to that of Redis
 * is measured and, where it is seconds off, logged.
 */
export function openRedis({ logger, metrics, onStop }: Runtime, { redisUrl, redisCluster }: RedisParts) {
  const redis = createRedis(redisUrl, logger, redisCluster);
  const probe = watchRedis(redis, Date.now);
  const ahead = metrics.gauge(
    'svc_clock_ahead_seconds',
    'How far the clock of this host is ahead of that of Redis',
    [],
  );
  let isOff = false;
  const timer = setInterval(() => {
    const aheadMs = probe.aheadMs();
    if (aheadMs === null) return;
    ahead.set(aheadMs / 1_000);
    if (isOff === Math.abs(aheadMs) > CLOCK_MS_MAX) return;
    isOff = !isOff;
    if (isOff) logger.warn({ aheadMs }, 'the clock of this host differs from that of Redis');
    else logger.info({ aheadMs }, 'the clock of this host agrees with that of Redis again');
  }, CLOCK_MS_MAX);
  onStop(async () => {
    clearInterval(timer);
    probe.stop();
    redis.disconnect();
  });
  return { redis, probe };
}

/** The connection to what senders can make grow: to a Redis of its own where one is configured, else the other one. */
export function openSecondaryRedis(
  { logger, onStop }: Runtime,
  { redisSecondaryUrl }: SecondaryRedisParts,
  redis: Redis,
): Redis {
  if (redisSecondaryUrl === null) return redis;
  const secondary = createRedis(redisSecondaryUrl, logger);
  onStop(async () => secondary.disconnect());
  return secondary;
}

/** The table of settings, which follows its topic until the process stops. */
export async function openSettings({ session, registry, logger, fatal, onStop }: Runtime): Promise<FollowedSettings> {
  const settings = await followSettings(session, registry, logger, fatal);
  onStop(() => settings.stop());
  return settings;
}

/**
 * Whose events are dropped as they were erased: the list follows its topic until the process stops, and says whether it is as the topic is
 * now.
 */
export async function openSuppressionList(
  { session, registry, logger, fatal, onStop }: Runtime,
  identitySecret: Buffer,
): Promise<SuppressionList & Pick<FollowedErasures, 'isCurrent'>> {
  const { list, isCurrent, stop } = await followErasures(session, registry, logger, fatal, identitySecret);
  onStop(() => stop());
  return { ...list, isCurrent };
}

/** A producer for records with a partition of their own, which ends with the process. */
export async function openProducer({ session, onStop }: Runtime): Promise<KeyedProducer> {
  const producer = await createKeyedProducer(session.kafka, session.config.watchdogMs);
  onStop(() => producer.stop());
  return producer;
}

/** An answer that took longer says too little of when the server read its clock. */
const ROUND_TRIP_MS_MAX = 1_000;

/**
 * Whether Redis answers, and how this host's clock stands to that of Redis, which all processes share. It is asked for its time:
 * the state of a connection says nothing of a server that hangs.
 */
export function watchRedis(redis: Redis, nowMs: () => number, times?: ProbeTimes) {
  let aheadMs: number | null = null;
  const aheadOf = async (node: Pick<Redis, 'time'>): Promise<number | null> => {
    const { aheadMs: ahead, roundTripMs } = await readClock(node, nowMs);
    return roundTripMs > ROUND_TRIP_MS_MAX ? null : ahead;
  };
  const probe = createProbe(async () => {
    // So that the nodes of a cluster are known, each of which has a part of the data and a clock.
    if (redis.isCluster) await redis.ping();
    const aheads = await Promise.all(nodesOf(redis, 'master').map(aheadOf));
    const [most] = aheads.filter((ahead) => ahead !== null).sort((one, other) => Math.abs(other) - Math.abs(one));
    aheadMs = most ?? aheadMs;
  }, times);
  /**
   * Milliseconds by which this host's clock is ahead, negative where it is behind, of the node of a cluster that differs most; null
   * while that is not known.
   */
  return { ...probe, aheadMs: (): number | null => aheadMs };
}

/** Of the time after which systemd takes silence for death. */
const SHARE = 3;
const MICROSECONDS_PER_MS = 1_000;
const SAYING_MS_MAX = 5_000;
const EVERY_MS_MAX = 60_000;

/**
 * Says now, and again and again, that the process lives, for systemd's watchdog (WatchdogSec): one whose event loop stands says
 * nothing any more, is killed and started again. Answers what ends that.
 *
 * @param limitUs `WATCHDOG_USEC`, in microseconds; null: nobody watches.
 * @param say Tells it; rejects where that failed, which is logged.
 */
export function tellSystemd(
  limitUs: number | null,
  say: () => Promise<void>,
  logger: Pick<Logger, 'warn'>,
): () => void {
  if (limitUs === null) return () => undefined;
  const tell = (): void => void say().catch((error: unknown) => logger.warn({ err: error }, 'systemd was not told'));
  tell();
  const timer = setInterval(tell, Math.min(limitUs / MICROSECONDS_PER_MS / SHARE, EVERY_MS_MAX)).unref();
  return () => clearInterval(timer);
}

/** By systemd's own program, as Node has no datagram sockets of Unix. @param socket `NOTIFY_SOCKET` */
function sayAlive(socket: string): Promise<void> {
  const env = { NOTIFY_SOCKET: socket, PATH: '/usr/bin:/bin' };
  return new Promise((resolve, reject) => {
    execFile('systemd-notify', ['WATCHDOG=1'], { env, timeout: SAYING_MS_MAX }, (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}
