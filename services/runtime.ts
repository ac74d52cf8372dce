import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import type { Environment } from '#infra/config/config.ts';
import type { ProcessConfig } from '#infra/config/service_config.ts';
import { armFailpoint } from '#infra/failpoint/failpoint.ts';
import { createHttpServer, listen } from '#infra/http/http_server.ts';
import { openAdmin, watchCluster } from '#infra/kafka/health_probe.ts';
import { watchPartitions } from '#infra/kafka/partition_watch.ts';
import { type KafkaSession, openKafka } from '#infra/kafka/session.ts';
import { declareTopics } from '#infra/kafka/topics.ts';
import { createLogger, type Logger } from '#infra/log/logger.ts';
import { createMetrics, type Metrics } from '#infra/metrics/metrics.ts';
import { createPatientRegistry } from '#infra/registry/patient_registry.ts';
import { createRegistry, type Registry, watchRegistry } from '#infra/registry/schema_registry.ts';
import { createPartStates, type PartStates } from './part_states.ts';
import { readConfig, warnOfSettings } from './read_config.ts';

/** What every process of the service has. */
export interface Runtime {
  stage: string;
  config: ProcessConfig;
  logger: Logger;
  metrics: Metrics;
  session: KafkaSession;
  registry: Registry;
  /** Registers what to stop; run in reverse order on SIGTERM, SIGINT or a failure of start-up. */
  onStop(task: () => Promise<unknown>): void;
  /** Stops the process at once with exit code 1; its supervisor starts it anew. */
  fatal(error: unknown): void;
  /** What `/ready` tells, to which a process adds the parts of its own. */
  parts: Pick<PartStates, 'needs' | 'uses'>;
  /** Whether Kafka answers. */
  clusterAlive(): boolean;
  /** Says that the process does its work now. */
  ready(facts?: Record<string, string | number>): void;
}

/** Message to the supervisor. */
export interface ReadyMessage {
  kind: 'ready';
  stage: string;
  /** Where it serves its metrics and its readiness; null where it has none. */
  metricsPort: number | null;
  facts: Record<string, string | number>;
}

/** Longest a clean stop may take before the process leaves anyway. */
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
      logger.error('stop took too long');
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
  const metrics = createMetrics(stage);
  const parts = createPartStates(logger, metrics, monotonicMs);
  let hasStarted = false;
  const metricsPort = await serveMetrics(config, metrics, () => ({
    waitingFor: [...(hasStarted ? [] : ['start']), ...parts.waitingFor()],
    away: parts.away(),
  }));
  const registryProbe = watchRegistry(config.parts.registryUrl);
  life.stops.push(async () => registryProbe.stop());
  parts.uses('registry', registryProbe.isAlive);
  const session = await openKafka(config.parts.kafka, `${config.parts.kafka.prefix}.${stage}`, logger);
  life.stops.push(() => session.stop());
  const cluster = watchCluster(() => openAdmin(session.kafka));
  life.stops.push(() => cluster.stop());
  parts.needs('kafka', cluster.alive);
  const { eventPartitions } = config.parts.kafka;
  // Lanes are the destinations', whose code only their processes load.
  const watch = await watchPartitions(session.admin, declareTopics(eventPartitions, []), logger);
  life.stops.push(async () => watch.stop());
  parts.needs('partitions', () => watch.lacking().length === 0);
  await main({
    stage,
    config,
    logger,
    metrics,
    session,
    registry: createPatientRegistry(createRegistry(config.parts.registryUrl), logger),
    parts,
    clusterAlive: cluster.alive,
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

interface Readiness {
  /** What is in the way of the work. */
  waitingFor: string[];
  /** What does not answer and is not needed now. */
  away: string[];
}

async function serveMetrics(config: ProcessConfig, metrics: Metrics, state: () => Readiness): Promise<number> {
  const server = createHttpServer({ trustedProxies: [], bodyBytesMax: 1024, requestTimeoutMs: 5_000 });
  server.get('/metrics', async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.text()),
  );
  server.get('/ready', (_request, reply) => {
    const { waitingFor, away } = state();
    const ready = waitingFor.length === 0;
    return reply.code(ready ? 200 : 503).send({ ready, waiting_for: waitingFor, away });
  });
  return listen(server, config.metricsHost, config.metricsPort);
}
