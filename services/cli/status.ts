// How the processes and stages are, as `status` tells it.
import type { StageItem, StagesAnswer } from '#services/control_api/operations.ts';
import { renderTable, withoutSecrets } from '#services/stage/terminal.ts';
import type { CliResult } from './command.ts';

/** What the status is read from. */
export interface StatusPorts {
  /** The text of ready.json; null while nothing has been started here. */
  readReadyFile(): string | null;
  fetched: Fetched;
  /** How far the stages of the installation are that the environment names; null where it names none. */
  readStages(): Promise<StagesAnswer | null>;
  /** Whether a person reads the answer; else secrets in it are replaced by where they are. */
  isTerminal: boolean;
}

/**
 * Reports what ready.json holds, whether the edge accepts events, and how each process does. Exit status 0 only when the edge
 * accepts events and every process is able to do its work. Without a ready.json it reports how far each stage is that the control
 * service knows, and whether somebody works at it.
 */
export async function statusReport(ports: StatusPorts, json: boolean): Promise<CliResult> {
  const file = ports.readReadyFile();
  if (file === null) return elsewhere(await ports.readStages(), json);
  const ready = readObject(file);
  if (ready === null) return failed('ready_malformed', 'ready.json is not a JSON object; npm start writes it anew');
  const edge = ready['edge'];
  const health = typeof edge === 'string' ? await readHealth(ports, edge) : { ok: false, says: 'no address is known' };
  const states = await processStates(ready, ports.fetched);
  const shown = ports.isTerminal ? ready : withoutSecrets(ready, 'ready.json');
  const says = [{ name: 'health', ...health }, ...states].map((one) => [one.name, one.says]);
  const text = json
    ? JSON.stringify({ ...shown, health, states }, null, 2)
    : renderTable(['WHAT', 'WHERE'], [...rows(shown, ''), ...says], '');
  const isAble = health.ok && states.every((state) => state.ready);
  return { exitCode: isAble ? 0 : 1, stdout: `${text}\n`, stderr: '' };
}

function elsewhere(stages: StagesAnswer | null, json: boolean): CliResult {
  if (stages === null) {
    const advice =
      'npm start writes what runs where when it is ready; SVC_CONTROL_URL names a control service elsewhere';
    return failed('not_running', `nothing runs here: ${advice}`);
  }
  const rows = stages.items.map((item) => [item.stage, sayOf(item)]);
  const text = json ? JSON.stringify(stages, null, 2) : renderTable(['STAGE', 'STATE'], rows, '');
  return { exitCode: stages.items.every(({ consumers }) => consumers > 0) ? 0 : 1, stdout: `${text}\n`, stderr: '' };
}

function sayOf({ consumers, lag, waits_longer_than_ms: waitsMs, on_lanes: retryTopics }: StageItem): string {
  return [
    consumers === 0 ? 'no consumers' : `consumers: ${consumers}`,
    ...(lag === null ? [] : [`${lag} records behind`]),
    ...(waitsMs === null ? [] : [`the oldest for more than ${waitsMs / 1_000} s`]),
    ...(retryTopics === 0 ? [] : [`${retryTopics} waiting for a retry`]),
  ].join(', ');
}

async function readHealth(ports: StatusPorts, edge: string) {
  const answer = await ports.fetched(new URL('/v1/health', edge).href);
  if (answer === null) return { ok: false, says: 'the edge does not answer' };
  const body = readObject(answer.body) ?? {};
  if (answer.status !== 200 || body['ok'] !== true) {
    return { ok: false, says: `the edge answers ${answer.status} and accepts nothing` };
  }
  return { ok: true, says: `the edge accepts events; its limits are kept in ${String(body['ratelimit'])}` };
}

function readObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** A row for each value; those inside objects are named by their path. */
function rows(facts: object, prefix: string): string[][] {
  return Object.entries(facts).flatMap(([name, value]: [string, unknown]) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return rows(value, `${prefix}${name}.`);
    return [[`${prefix}${name}`, typeof value === 'string' ? value : JSON.stringify(value)]];
  });
}

function failed(code: string, message: string): CliResult {
  return { exitCode: 1, stdout: '', stderr: `svc: ${code}: ${message}\n` };
}

/** What an address answers; null when there was no answer in time. */
type Fetched = (url: string) => Promise<{ status: number; body: string } | null>;

/** How one process does, by what it answers itself. */
interface ProcessState {
  name: string;
  ready: boolean;
  says: string;
  /** Offsets it has still to take of what it consumes; null where it does not say. */
  lagRecords: number | null;
}

/** Asks every process of ready.json for `/ready` and for its lag, beside each other. */
async function processStates(ready: Record<string, unknown>, fetched: Fetched): Promise<ProcessState[]> {
  const processes = Object.entries((ready['processes'] ?? {}) as Record<string, { metrics?: unknown } | null>);
  const asked = processes.flatMap(([name, facts]) => {
    const metrics = facts?.metrics;
    return typeof metrics === 'string' ? [stateOf(name, metrics, fetched)] : [];
  });
  return Promise.all(asked);
}

async function stateOf(name: string, metricsUrl: string, fetched: Fetched): Promise<ProcessState> {
  const [answer, metrics] = await Promise.all([fetched(new URL('/ready', metricsUrl).href), fetched(metricsUrl)]);
  if (answer === null) return { name, ready: false, says: 'does not answer', lagRecords: null };
  const isReady = answer.status === 200;
  const lagRecords = metrics?.status === 200 ? lagOf(metrics.body) : null;
  const words = (list: unknown): string | null => (Array.isArray(list) && list.length > 0 ? list.join(', ') : null);
  const parts = readObject(answer.body) ?? {};
  const [waitingFor, away] = [words(parts['waiting_for']), words(parts['away'])];
  const ability = isReady ? 'ready' : `waiting for ${waitingFor ?? 'an unknown part'}`;
  const state = away === null ? ability : `${ability}, no answer from ${away}`;
  const lag = lagRecords === null ? '' : `, ${lagRecords} ${lagRecords === 1 ? 'record' : 'records'} behind`;
  return { name, ready: isReady, says: `${state}${lag}`, lagRecords };
}

/** The sum over all partitions in the metrics' text; null where there is none. */
function lagOf(metrics: string): number | null {
  const samples = [...metrics.matchAll(/^svc_lag_records\{[^}]*\} (\S+)$/gm)].map(([, value]) => Number(value));
  return samples.length === 0 ? null : samples.reduce((sum, value) => sum + value, 0);
}
