import { renderTable } from '#services/render.ts';
import type { CliResult } from './command.ts';
import { type Fetched, type ProcessState, processStates } from './process_states.ts';

/** What the status is read from. */
export interface StatusPorts {
  /** The text of ready.json; null while nothing has been started here. */
  readReadyFile(): string | null;
  fetched: Fetched;
}

interface Health {
  ok: boolean;
  says: string;
}

/**
 * Reports what ready.json holds, whether the edge accepts events, and how each process does. Exit status 0 only when the edge
 * accepts events and every process is able to do its work.
 */
export async function statusReport(ports: StatusPorts, json: boolean): Promise<CliResult> {
  const ready = readReady(ports.readReadyFile());
  if (ready === null)
    return failed('not_running', 'nothing runs here: npm start writes what runs where when it is ready');
  if (ready === 'malformed')
    return failed('ready_malformed', 'ready.json is not a JSON object; npm start writes it anew');
  const edge = ready['edge'];
  const health = typeof edge === 'string' ? await readHealth(ports, edge) : { ok: false, says: 'no address is known' };
  const states = await processStates(ready, ports.fetched);
  const text = json ? JSON.stringify({ ...ready, health, states }, null, 2) : table(ready, health, states);
  const isAble = health.ok && states.every((state) => state.ready);
  return { exitCode: isAble ? 0 : 1, stdout: `${text}\n`, stderr: '' };
}

function readReady(text: string | null): Record<string, unknown> | 'malformed' | null {
  if (text === null) return null;
  return readObject(text) ?? 'malformed';
}

async function readHealth(ports: StatusPorts, edge: string): Promise<Health> {
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

function table(ready: Record<string, unknown>, health: Health, states: readonly ProcessState[]): string {
  const says = [['health', health.says], ...states.map((state) => [state.name, state.says])];
  return renderTable(['WHAT', 'WHERE'], [...rows(ready, ''), ...says], '');
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
