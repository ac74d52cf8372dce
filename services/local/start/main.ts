import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createMutex } from '#infra/concurrency/gates.ts';
import { readConfig, warnOfSettings } from '#infra/config/catalogue.ts';
import { identityKeyOf, type PartsConfig, partsConfig } from '#infra/config/service_config.ts';
import { createKafka, openKafka } from '#infra/kafka/client.ts';
import { applyAcls } from '#infra/kafka/provision.ts';
import { createLogger, type Logger } from '#infra/log/logger.ts';
import { type FollowedErasures, followErasures } from '#infra/persons/erasure_topic.ts';
import { createRegistry } from '#infra/registry/schema_registry.ts';
import { followSettings } from '#infra/settings/follow_settings.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { keepsPersonsForDays } from '#pipelines/erasure/retention.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { createControlClient, httpTransport } from '#services/control_api/client.ts';
import { provision } from '#services/stage/provision.ts';
import { localSqlUrl, makeLocalAnalyst } from '../parts/clickhouse/clickhouse.ts';
import { LOCAL_PROCESS_USERS, loginsOf } from '../parts/clickhouse/users.ts';
import { choosePorts } from '../parts/part.ts';
import { type LocalParts, startParts } from '../parts/parts.ts';
import { ensureReaper, onParentGone, registerChild } from '../parts/processes.ts';
import { acquireLock } from '../parts/tools.ts';
import {
  dataDirectory,
  externalAddresses,
  idleNotes,
  localAdminToken,
  readStartConfig,
  serviceEnvironment,
  startCounts,
} from './config.ts';
import { DEMO_DESTINATIONS, ensureDemo, ensureShopPages } from './demo_settings.ts';
import {
  alertsSpec,
  controlSpec,
  createDeliveries,
  deliverySpecs,
  erasureSpec,
  isMeasured,
  metricsPortName,
  processEnvironment,
  processSpecs,
  replaySpec,
  replicated,
  shopSpec,
} from './processes.ts';
import { applyLogins, watchRotations } from './rotation.ts';
import {
  type PartsFile,
  partsFile,
  type ReadyFile,
  readyFile,
  readyPath,
  readyScreen,
  removeReadyFile,
  watchStart,
  writeReadyFile,
} from './screen.ts';
import { createSupervisor, type ProcessSpec, rotateLogs, type Supervisor } from './supervisor.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const HOST = '127.0.0.1';
const urlOf = (port: number): string => `http://${HOST}:${port}`;

// What the parts and processes write holds events and settings, which are nobody else's on this machine.
process.umask(0o077);

const wanted = readConfig(readStartConfig);
const counts = readConfig(() => startCounts(process.argv.slice(2)));
const dataDir = dataDirectory(wanted);
const logDir = join(dataDir, 'log');
mkdirSync(logDir, { recursive: true });

const pidFile = join(dataDir, 'pid');
if ((await acquireLock(dataDir)) === null) {
  const pid = readFileSync(pidFile, 'utf8').trim();
  process.stderr.write(`already running (pid ${pid}): stop it first, or see npm run svc -- status\n`);
  process.exit(1);
}
writeFileSync(pidFile, `${process.pid}\n`);

/** How soon a destination that a site just got, or the first replay, is noticed. */
const SETTINGS_POLL_MS = 1_000;
const DESTINATION_NAMES = DESTINATIONS.map(({ name }) => name);
const ALIVE_MS_MAX = 5_000;
const LOGS_POLL_MS = 60_000;

/** Whether a process answers at all: one that waits for a part lives. */
function isAlive(metricsPort: number): Promise<boolean> {
  return fetch(`${urlOf(metricsPort)}/ready`, { signal: AbortSignal.timeout(ALIVE_MS_MAX) }).then(
    async (answer) => {
      await answer.body?.cancel();
      return true;
    },
    () => false,
  );
}

/** On a full disk nothing can be written: what runs must not end by that. */
function despite(what: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    say(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const running: { parts?: LocalParts; supervisor?: Supervisor; stopSettings?: () => Promise<void> } = {};
let stopping = false;

/** Ends the processes first, then the parts they use. */
async function stop(why: string, exitCode: number): Promise<void> {
  if (stopping) return;
  stopping = true;
  say(`stopping (${why})`);
  removeReadyFile(dataDir);
  await Promise.all([running.stopSettings?.(), running.supervisor?.stop()]);
  await running.parts?.stop();
  say('stopped');
  process.exit(exitCode);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(signal, 0));
onParentGone(() => void stop('the terminal is gone', 0));
// A terminal that went away takes no more output; that must not keep the rest from stopping.
process.stdout.on('error', () => void stop('output closed', 0));

async function start(): Promise<void> {
  const startedMs = Date.now();
  warnOfSettings(say);
  removeReadyFile(dataDir);
  ensureReaper();
  let ready: (() => ReadyFile | PartsFile) | null = null;
  const writeReady = (): void => {
    const file = stopping ? undefined : ready?.();
    if (file !== undefined) despite('ready.json was not written', () => writeReadyFile(dataDir, file));
  };
  const parts = await startParts({
    dataDir,
    external: externalAddresses(wanted),
    brokers: counts.brokers,
    // A part that was started again, or could not be, has said so.
    onProgress: (line) => {
      say(line);
      writeReady();
    },
    onPartExit: (name, detail) => {
      say(`${name} died: ${detail}`);
      writeReady();
    },
    restartDeadParts: true,
  });
  running.parts = parts;
  if (counts.partsAlone) {
    keepLogsShort();
    ready = () => partsFile(parts);
    writeReady();
    return say(`READY\nonly Kafka, the registry, Redis and ClickHouse: no process takes or moves events`);
  }
  const env = await serviceEnvironment(dataDir, parts.addresses, counts);
  const logger = createLogger('start', 'warn');
  const config = partsConfig(env);
  const logins = loginsOf(dataDir, parts.addresses);
  const kafka = createKafka(config.kafka, 'svc.start', logger);
  const [report] = await Promise.all([
    provision(config, logger),
    logins.kafka === null ? undefined : applyAcls(kafka, LOCAL_PROCESS_USERS, config.kafka.prefix),
    logins.kafka === null ? undefined : applyLogins(kafka, logins.kafka),
  ]);
  for (const line of report.done) say(line);
  for (const line of idleNotes(counts, config.kafka)) say(`NOTE: ${line}`);
  for (const line of report.mismatches) say(`MISMATCH (left as it is): ${line}`);
  if (parts.parts.clickhouse !== undefined) await makeLocalAnalyst(parts.addresses.clickhouseUrl);

  const ports = await choosePorts(dataDir, ['edge', 'control', 'metaStandin', 'webhookStandin', 'shop']);
  const chosen = { ...ports, edge: wanted.edgePort ?? ports.edge, control: wanted.controlPort ?? ports.control };
  const others = Array.from({ length: counts.of('edge') - 1 }, (_, index) => `edge${index + 2}`);
  const otherPorts: Record<string, number> = await choosePorts(dataDir, others);
  const edgePorts = [chosen.edge, ...others.map((name) => otherPorts[name] as number)];
  const shop = urlOf(ports.shop);
  const standins = { meta: urlOf(ports.metaStandin), webhook: urlOf(ports.webhookStandin) };
  const supervisor = createSupervisor({
    logDir,
    onSpawn: (pid) => registerChild(pid, 'service'),
    onChange: writeReady,
    say,
    nowMs: Date.now,
    isAlive,
  });
  running.supervisor = supervisor;
  const choosing = createMutex();
  const run = async (kinds: readonly ProcessSpec[]): Promise<void> => {
    const specs = replicated(kinds, counts.of, edgePorts);
    const names = specs.map(({ name }) => name).filter(isMeasured);
    // Right before they are taken, so that nobody else takes them between.
    const metricsPorts: Record<string, number> = await choosing.run(() =>
      choosePorts(dataDir, names.map(metricsPortName)),
    );
    await supervisor.start(
      specs.map(({ env: own, ...spec }) => {
        const port = metricsPorts[metricsPortName(spec.name)];
        const all = port === undefined ? own : { ...own, METRICS_PORT: String(port) };
        return {
          ...spec,
          env: () => processEnvironment(spec.name, { ...all, ...sqlLogin(parts) }, loginsOf(dataDir, parts.addresses)),
        };
      }),
    );
  };
  say('starting the edge, the control service and the pipelines');
  const control = urlOf(chosen.control);
  const edge = urlOf(chosen.edge);
  const client = createControlClient(httpTransport(control), localAdminToken(dataDir));
  const started = Promise.all([
    run([controlSpec(env, chosen)]).then(async () => {
      const demo = await ensureDemo(client, dataDir, standins);
      const key = await ensureShopPages(client, dataDir, shop);
      await run([shopSpec(env, ports.shop, { edge, key })]);
      return demo;
    }),
    run(processSpecs(env, chosen, dataDir)),
    follow(config, identityKeyOf(env), logger).then((followed) => startAsNeeded(followed, env, run)),
  ]);
  const [demo] = await watchStart(started, { states: () => supervisor.states(), logDir, say });
  const whole = (): ReadyFile =>
    readyFile(dataDir, { edges: edgePorts.map(urlOf), control, shop }, parts, demo, standins, supervisor.states());
  ready = whole;
  writeReady();
  const isTerminal = process.stdout.isTTY === true;
  say(readyScreen(whole(), supervisor.states(), { isTerminal, readyPath: readyPath(dataDir), logDir }));
  keepLogsShort();
  watchRotations({
    ...{ dataDir, parts, kafka: config.kafka, say },
    async renewProcesses() {
      await supervisor.renewChanged();
      writeReady();
    },
  });
  say(`(started in ${((Date.now() - startedMs) / 1000).toFixed(1)} s)`);
}

/** From when all runs: before, nothing may keep a process that waits in vain from ending. */
function keepLogsShort(): void {
  setInterval(() => despite('a log was not rotated', () => rotateLogs(logDir)), LOGS_POLL_MS);
}

/** As whom the control service asks SQL of the ClickHouse that runs here. */
const sqlLogin = ({ parts, addresses }: LocalParts): Record<string, string> =>
  parts.clickhouse === undefined ? {} : { CONTROL_SQL_URL: localSqlUrl(dataDir, addresses.clickhouseUrl) };

/** Starts what the settings ask for, now and whenever they ask for more. */
async function startAsNeeded(
  { table, erasures }: Followed,
  env: Readonly<Record<string, string>>,
  run: (specs: readonly ProcessSpec[]) => Promise<void>,
): Promise<void> {
  const wantedNames = wanted.destinations ?? DESTINATION_NAMES;
  const startConfigured = createDeliveries(table, wantedNames, DEMO_DESTINATIONS, (names) =>
    run(deliverySpecs(env, names)),
  );
  await startConfigured();
  // A process that nobody has asked for takes no memory on a small machine.
  const waiting = [
    { spec: replaySpec(env), isAsked: () => table.replays().length > 0 },
    { spec: alertsSpec(env), isAsked: () => table.sites().some(({ site_id }) => table.alerts(site_id).length > 0) },
    { spec: erasureSpec(env), isAsked: () => erasures.size > 0 || table.sites().some(keepsPersonsForDays) },
  ];
  setInterval(() => {
    void startConfigured();
    for (const one of waiting.filter(({ isAsked }) => isAsked())) {
      waiting.splice(waiting.indexOf(one), 1);
      void run([one.spec]);
    }
  }, SETTINGS_POLL_MS);
}

/** What says which processes are needed. */
interface Followed {
  table: SettingsTable;
  erasures: FollowedErasures['all'];
}

async function follow(config: PartsConfig, identityKey: Buffer, logger: Logger): Promise<Followed> {
  const session = await openKafka(config.kafka, 'svc.start', logger);
  const registry = createRegistry(config.registryUrl, config.kafka);
  const onLost = (error: unknown): void => {
    process.stderr.write(`lost the connection to the settings: ${String(error)}\n`);
    void stop('settings lost', 1);
  };
  const [settings, erasures] = await Promise.all([
    followSettings(session, registry, logger, onLost),
    followErasures(session, registry, logger, onLost, identityKey),
  ]);
  running.stopSettings = async () => {
    await Promise.all([settings.stop(), erasures.stop()]);
    await session.stop();
  };
  return { table: settings.table, erasures: erasures.all };
}

// A start that waits for something which nothing in this process waits for must not look like one that went well.
process.once('beforeExit', () => {
  process.stderr.write('could not start: some processes never became ready\n');
  void stop('start failed', 1);
});
start().catch(async (error: unknown) => {
  const { code, message, stack } = error as { code?: string; message?: string; stack?: string };
  process.stderr.write(
    `could not start: ${code ?? 'error'}: ${message ?? String(error)}\n${code === undefined ? (stack ?? '') : ''}\n`,
  );
  await stop('start failed', 1);
});
