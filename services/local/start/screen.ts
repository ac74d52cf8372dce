import type { ProcessState } from '#services/local/supervisor/supervisor.ts';
import { withoutSecrets } from '#services/ready_secrets.ts';
import type { ReadyFile } from './ready_file.ts';

/** Where the screen goes, and so what it may show. */
export interface ScreenOptions {
  /** A person reads it; else it may be kept for others to read, and says where secrets are instead of what they are. */
  isTerminal: boolean;
  readyPath: string;
  logDir: string;
}

/** The curl line that sends one event with the demo key. */
function curlLine(ready: ReadyFile, key: string): string {
  return [
    `curl -sS ${ready.edge}/v1/ingest -H "X-Svc-Key: ${key}" -H 'Content-Type: application/json' \\`,
    `  -d '{"events":[{"event":"purchase","uuid":"'$(cat /proc/sys/kernel/random/uuid)'","distinct_id":"me","properties":{"value":12.5,"currency":"EUR"}}]}'`,
  ].join('\n');
}

/** The query that shows what the curl line sent. */
function selectLine(url: string): string {
  return `curl -sS "${url}" -d "SELECT event, distinct_id, value, currency, received_at FROM events ORDER BY received_at DESC LIMIT 5 FORMAT PrettyCompact"`;
}

/** One screen that says what runs where. */
export function readyScreen(facts: ReadyFile, processes: readonly ProcessState[], options: ScreenOptions): string {
  const { isTerminal, readyPath, logDir } = options;
  const ready = isTerminal ? facts : withoutSecrets(facts, readyPath);
  const secret = (name: 'serverKey' | 'clickhouse'): string =>
    isTerminal ? facts[name] : `$(node -p "require('${readyPath}').${name}")`;
  const rows: [string, string][] = [
    ['dashboard', ready.dashboard.url],
    ['sign in', `as ${ready.dashboard.user}; the password is in ${ready.dashboard.passwordFile}`],
    ['edge', ready.edge],
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
        `  ${name.padEnd(18)} pid ${String(pid).padEnd(8)} http://127.0.0.1:${metricsPort}/metrics`,
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
