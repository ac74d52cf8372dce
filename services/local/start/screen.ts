// What `npm start` says: progress, ready.json, and the screen when all is ready.

import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withoutSecrets } from '#services/stage/terminal.ts';
import { lastLines } from '../parts/part.ts';
import type { LocalParts } from '../parts/parts.ts';
import { LocalError } from '../parts/tools.ts';
import { adminPasswordFile, adminTokenFile, FIRST_USER } from './config.ts';
import type { DemoSites, StandinUrls } from './demo_settings.ts';
import type { ProcessState } from './supervisor.ts';

/** The curl line that sends one event with the demo key. */
function curlLine(ready: ReadyFile, key: string): string {
  return [
    `curl -sS ${ready.edge}/v1/ingest -H "X-Svc-Key: ${key}" -H 'Content-Type: application/json' \\`,
    `  -d '{"events":[{"event":"purchase","uuid":"'$(cat /proc/sys/kernel/random/uuid)'","distinct_id":"me","properties":{"value":12.5,"currency":"EUR"}}]}'`,
  ].join('\n');
}

function selectLine(url: string): string {
  return `curl -sS "${url}" -d "SELECT event, distinct_id, value, currency, received_at FROM events ORDER BY received_at DESC LIMIT 5 FORMAT PrettyCompact"`;
}

/**
 * One screen that says what runs where.
 *
 * @param isTerminal A person reads it; else it may be kept for others to read, and says where secrets are instead of what they are.
 */
export function readyScreen(
  facts: ReadyFile,
  processes: readonly ProcessState[],
  { isTerminal, readyPath, logDir }: { isTerminal: boolean; readyPath: string; logDir: string },
): string {
  const ready = isTerminal ? facts : withoutSecrets(facts, readyPath);
  const secret = (name: 'serverKey' | 'clickhouse'): string =>
    isTerminal ? facts[name] : `$(node -p "require('${readyPath}').${name}")`;
  const rows: [string, string][] = [
    ['dashboard', ready.dashboard.url],
    ['sign in', `as ${ready.dashboard.user}; the password is in ${ready.dashboard.passwordFile}`],
    ['edge', ready.edges.join(', ')],
    ['control', `${ready.control}/docs`],
    ['kafka', ready.kafka],
    ['registry', ready.registry],
    ['redis', ready.redis],
    ['clickhouse', ready.clickhouse],
    ['site', ready.site],
    ['browser key', ready.browserKey],
    ['server key', ready.serverKey],
    ['demo shop', `${ready.demo.pages} (open it: pages with the tag)`],
    ['stand-ins', `${ready.demo.metaStandin} (Meta), ${ready.demo.webhookStandin} (webhook)`],
    ['logs', logDir],
  ];
  const metrics = processes
    .filter(({ metricsPort }) => metricsPort !== undefined)
    .map(
      ({ name, metricsPort, pid }) =>
        `  ${name.padEnd(18)} pid ${String(pid).padEnd(8)} http://${HOST}:${metricsPort}/metrics`,
    );
  return [
    '',
    'READY',
    '',
    ...rows.map(([name, value]) => `  ${name.padEnd(12)} ${value}`),
    '',
    ...metrics,
    '',
    'Send an event:',
    curlLine(ready, secret('serverKey')),
    '',
    'See it in ClickHouse:',
    selectLine(secret('clickhouse')),
    '',
    'A day of traffic: npm run demo        Stop: Ctrl-C',
    '',
  ].join('\n');
}

const HOST = '127.0.0.1';

export type ReadyFile = ReturnType<typeof readyFile>;

export type PartsFile = ReturnType<typeof partsFile>;

/** What `.local/ready.json` holds of the parts; by `npm start -- --parts` nothing else. */
export function partsFile({ addresses, parts }: Pick<LocalParts, 'addresses' | 'parts'>) {
  return {
    registry: addresses.registryUrl,
    kafka: addresses.kafkaBrokers,
    redis: addresses.redisUrl,
    /** Credentials included; a SELECT can be POSTed to it and finds `events` unqualified. */
    clickhouse: addresses.clickhouseUrl,
    /** Pid and last deaths of each part that runs here, with the trouble that it told of in its log the last time. */
    parts: Object.fromEntries(
      Object.entries(parts).map(([name, { pid = null, deaths }]) => [
        name,
        { pid, died_ms: deaths.diedMs, said: deaths.said },
      ]),
    ),
  };
}

/** What `.local/ready.json` holds while everything runs: where scripts and tests find the service. */
export function readyFile(
  dataDir: string,
  { edges, control, shop }: { edges: readonly string[]; control: string; shop: string },
  local: Pick<LocalParts, 'addresses' | 'parts'>,
  demo: DemoSites,
  standins: StandinUrls,
  states: readonly ProcessState[],
) {
  return {
    /** The first one; `edges` are all. */
    edge: edges[0] ?? '',
    edges,
    control,
    /** The file that holds an admin token for it. */
    adminTokenFile: adminTokenFile(dataDir),
    /** The dashboard, the user to sign in as, and the file that holds the password that the user was made with. */
    dashboard: { url: `${control}/dashboard/`, user: FIRST_USER, passwordFile: adminPasswordFile(dataDir) },
    ...partsFile(local),
    site: demo.shop.site,
    browserKey: demo.shop.browserKey,
    serverKey: demo.shop.serverKey,
    /** The demo sites, the platforms they deliver to, and the pages of the shop, on which the tag can be tried. */
    demo: { ...demo, metaStandin: standins.meta, webhookStandin: standins.webhook, pages: shop },
    /** Pid, metrics address, last deaths and silence of each process, as they were when that last changed of one. */
    processes: Object.fromEntries(
      states.map(({ name, pid = null, metricsPort: port, diedMs, silentSinceMs }) => {
        const metrics = port === undefined ? null : `http://${HOST}:${port}/metrics`;
        return [name, { pid, metrics, died_ms: diedMs, silent_since_ms: silentSinceMs }];
      }),
    ),
  };
}

export function readyPath(dataDir: string): string {
  return join(dataDir, 'ready.json');
}

/** Writes the file whole or not at all. It holds keys, so it is for its owner only. */
export function writeReadyFile(dataDir: string, ready: ReadyFile | PartsFile): void {
  const path = readyPath(dataDir);
  writeFileSync(`${path}.new`, `${JSON.stringify(ready, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

export function removeReadyFile(dataDir: string): void {
  rmSync(readyPath(dataDir), { force: true });
}

interface StartWatchOptions {
  states(): readonly ProcessState[];
  logDir: string;
  say(line: string): void;
  /** How long before it is said, and said again, which processes are waited for. */
  remindMs?: number;
  /** How long before the start has failed. */
  timeoutMs?: number;
}

const REMIND_MS = 30_000;
/** Longer than a stage whose client hangs while it joins its group takes until its watchdog ends it and it is ready again. */
const TIMEOUT_MS = 300_000;
const LOG_LINES = 20;

/**
 * Waits for a start of processes, and never without a word: says again and again which are not ready yet, and gives up
 * after `timeoutMs` with an error (`local_process_not_ready`) that holds the last lines of their logs.
 */
export async function watchStart<T>(start: Promise<T>, options: StartWatchOptions): Promise<T> {
  const { states, logDir, say, remindMs = REMIND_MS, timeoutMs = TIMEOUT_MS } = options;
  const startedMs = performance.now();
  const unready = () => states().filter(({ ready }) => !ready);
  const reminder = setInterval(() => {
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    say(`still waiting after ${seconds} s for ${describe(unready())}`);
  }, remindMs);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(notReady(unready(), logDir, timeoutMs)), timeoutMs);
  });
  try {
    return await Promise.race([start, late]);
  } finally {
    clearInterval(reminder);
    clearTimeout(timer);
  }
}

function describe(unready: readonly ProcessState[]): string {
  const names = unready.map(({ name, restarts }) => (restarts > 0 ? `${name} (started ${restarts + 1} times)` : name));
  return names.join(', ') || 'the settings';
}

function notReady(unready: readonly ProcessState[], logDir: string, timeoutMs: number): LocalError {
  const logs = unready.map(({ name }) => {
    const path = join(logDir, `${name}.log`);
    return `Its log, ${path}:\n${lastLines(path, LOG_LINES)}`;
  });
  const what = `not ready after ${timeoutMs / 1000} s: ${describe(unready)}.`;
  return new LocalError('local_process_not_ready', [what, ...logs].join('\n'));
}
