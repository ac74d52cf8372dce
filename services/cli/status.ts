import type { StageItem, StagesAnswer } from '#services/control_api/stage_shapes.ts';
import { withoutSecrets } from '#services/ready_secrets.ts';
import { renderTable } from '#services/render.ts';
import type { CliResult } from './command.ts';
import { type Fetched, type ProcessState, processStates } from './process_states.ts';

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

interface Health {
  ok: boolean;
  says: string;
}

/**
 * Reports what ready.json holds, whether the edge accepts events, and how each process does. Exit status 0 only when the edge
 * accepts events and every process is able to do its work. Without a ready.json it reports how far each stage is that the control
 * service knows, and whether somebody works at it.
 */
export async function statusReport(ports: StatusPorts, json: boolean): Promise<CliResult> {
  const ready = readReady(ports.readReadyFile());
  if (ready === null) return elsewhere(await ports.readStages(), json);
  if (ready === 'malformed')
    return failed('ready_malformed', 'ready.json is not a JSON object; npm start writes it anew');
  const edge = ready['edge'];
  const health = typeof edge === 'string' ? await readHealth(ports, edge) : { ok: false, says: 'no address is known' };
  const states = await processStates(ready, ports.fetched);
  const shown = ports.isTerminal ? ready : withoutSecrets(ready, 'ready.json');
  const text = json ? JSON.stringify({ ...shown, health, states }, null, 2) : table(shown, health, states);
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

function sayOf({ consumers, lag, waits_longer_than_ms: waitsMs, on_lanes: lanes }: StageItem): string {
  return [
    consumers === 0 ? 'nobody works at it' : `${consumers} at work`,
    ...(lag === null ? [] : [`${lag} records behind`]),
    ...(waitsMs === null ? [] : [`the oldest for more than ${waitsMs / 1_000} s`]),
    ...(lanes === 0 ? [] : [`${lanes} on lanes`]),
  ].join(', ');
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
