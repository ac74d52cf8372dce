// What `status` reads of an installation, and the screen it shows. What is wrong is decided by findings.ts.
import type { DestinationItem, HealthItem } from '#services/control_api/destinations.ts';
import type { StageItem, StagesAnswer } from '#services/control_api/operations.ts';
import type { DeadLetterItem } from '#services/control_api/redelivery.ts';
import type { AccountItem } from '#services/control_api/sites.ts';
import { renderTable, renderTime, withoutSecrets } from '#services/stage/terminal.ts';
import type { CliResult } from '../command.ts';
import { objectIn } from '../read.ts';
import { findingsOf, spanText, stageOfDeadLetters } from './findings.ts';
import { type Finding, type HttpAnswer, type Observed, readMetrics } from './observed.ts';

/** How an item or a list of the control service came. */
type ControlAnswer<Item> =
  | { kind: 'item'; item: Item }
  /** It was too slow, or a part of it is away. */
  | { kind: 'unavailable'; isSilent: boolean }
  /** The token may not see it. */
  | { kind: 'refused'; isUnknown: boolean };

/** What the status is read from. Every read ends by itself within four seconds, whatever hangs. */
export interface StatusPorts {
  /** The text of ready.json; null while nothing has been started here. */
  readReadyFile(): string | null;
  /** What an address answers; null when there was no answer in time. */
  fetched(url: string): Promise<HttpAnswer | null>;
  /** Asks the control service; null where no address or no token of one is known. */
  askControl: (<Item>(path: string, query?: Record<string, string>) => Promise<ControlAnswer<Item>>) | null;
  /** The edge that the environment names; null: that of ready.json. */
  edgeUrl: string | null;
  /** The disks with the local data. */
  readDisks(): Promise<Observed['disks']>;
  nowMs(): number;
  /** Whether a person reads the answer; else secrets in it are replaced by where they are. */
  isTerminal: boolean;
}

/** Options of the command. */
export interface StatusOptions {
  json: boolean;
  /** Addresses of processes' metrics, beside those of ready.json. */
  metrics: readonly string[];
}

type ObservedProcesses = Observed['processes'];

/**
 * Says what is wrong, since when, and what to do, worst first; then how each process and stage does, and, where nothing is
 * wrong, what runs where. Exit status 0 only where nothing is, and the edge accepts events.
 */
export async function statusReport(ports: StatusPorts, options: StatusOptions): Promise<CliResult> {
  const file = ports.readReadyFile();
  const ready = file === null ? {} : objectIn(file);
  if (ready === null) return failed('ready_malformed', 'ready.json is not a JSON object; npm start writes it anew');
  if (file === null && ports.askControl === null && options.metrics.length === 0) {
    const advice =
      'npm start writes what runs where when it is ready; SVC_CONTROL_URL names a control service elsewhere, and --metrics its processes';
    return failed('not_running', `nothing runs here: ${advice}`);
  }
  const isLocal = file !== null;
  const observed = await observe(ports, ready, isLocal, options.metrics);
  const findings = findingsOf(observed);
  const health = isLocal || observed.edge !== null ? healthOf(observed) : null;
  const states = observed.processes.filter(({ isAsked }) => isAsked).map(stateOf);
  const isWell =
    findings.every(({ severity }) => severity === 'notice') &&
    health?.ok !== false &&
    states.every((state) => state.ready);
  const shown = ports.isTerminal ? ready : withoutSecrets(ready, 'ready.json');
  const stages = stagesOf(observed);
  const text = options.json
    ? JSON.stringify({ ...shown, findings, health, states, stages }, null, 2)
    : [
        findings.map((finding) => lineOf(finding, observed.nowMs)).join('\n') ||
          (isWell ? 'Nothing is wrong.' : 'Not everything could be looked at.'),
        renderTable(
          ['WHAT', isLocal ? 'WHERE' : 'STATE'],
          [
            ...(isWell ? rows(shown, '') : []),
            ...(health === null ? [] : [['health', health.says]]),
            ...states.map(({ name, says }) => [name, says]),
            ...(isLocal ? [] : stages.map((item) => [item.stage, sayOf(item)])),
          ],
          '',
        ),
      ].join('\n\n');
  return { exitCode: isWell ? 0 : 1, stdout: `${text}\n`, stderr: '' };
}

function failed(code: string, message: string): CliResult {
  return { exitCode: 1, stdout: '', stderr: `svc: ${code}: ${message}\n` };
}

async function observe(
  ports: StatusPorts,
  ready: Record<string, unknown>,
  isLocal: boolean,
  metricsUrls: readonly string[],
): Promise<Observed> {
  const edgeUrl = ports.edgeUrl ?? ready['edge'];
  const readThemselves = () =>
    Promise.all([
      typeof edgeUrl === 'string' ? ports.fetched(new URL('/v1/health', edgeUrl).href) : null,
      readProcesses(ports, ready, metricsUrls),
    ]);
  const [first, control, disks] = await Promise.all([
    readThemselves(),
    readControl(ports),
    isLocal ? ports.readDisks() : [],
  ]);
  // What control could not have in time, as a part hangs, the processes may have noticed while it was waited for.
  const [[answer, processes], openDeadLetters] = await Promise.all([
    isWhole(control) ? first : readThemselves(),
    readOpenDeadLetters(ports, first[1]),
  ]);
  return {
    nowMs: ports.nowMs(),
    edge: typeof edgeUrl === 'string' ? { answer } : null,
    processes,
    control: control === null || typeof control === 'string' ? control : { ...control, openDeadLetters },
    parts: partsIn(ready),
    disks,
  };
}

function partsIn(ready: Record<string, unknown>): Observed['parts'] {
  const parts = Object.entries((ready['parts'] ?? {}) as Record<string, Record<string, unknown> | null>);
  return parts.map(([name, facts]) => ({
    name,
    isRunning: typeof facts?.['pid'] === 'number',
    diedMs: Array.isArray(facts?.['died_ms']) ? facts['died_ms'].map(Number) : [],
    said: typeof facts?.['said'] === 'string' ? facts['said'] : null,
  }));
}

interface LocalProcess {
  metrics?: unknown;
  died_ms?: unknown;
  silent_since_ms?: unknown;
}

async function readProcesses(
  { fetched }: StatusPorts,
  ready: Record<string, unknown>,
  urls: readonly string[],
): Promise<ObservedProcesses> {
  const read = async (metricsUrl: string): Promise<Pick<ObservedProcesses[number], 'ready' | 'metrics'>> => {
    const [isReady, metrics] = await Promise.all([fetched(new URL('/ready', metricsUrl).href), fetched(metricsUrl)]);
    return { ready: isReady, metrics };
  };
  const local = Object.entries((ready['processes'] ?? {}) as Record<string, LocalProcess | null>);
  return Promise.all([
    ...local.map(async ([name, facts]) => {
      const metricsUrl = typeof facts?.metrics === 'string' ? facts.metrics : null;
      const answers = metricsUrl === null ? { ready: null, metrics: null } : await read(metricsUrl);
      const diedMs = Array.isArray(facts?.died_ms) ? facts.died_ms.map(Number) : [];
      const silentSinceMs = typeof facts?.silent_since_ms === 'number' ? facts.silent_since_ms : null;
      return { name, isAsked: metricsUrl !== null, ...answers, diedMs, silentSinceMs };
    }),
    ...urls.map(async (url) => {
      const answers = await read(url);
      const stage = stageIn(answers.metrics?.body ?? '');
      const { host } = new URL(url);
      return {
        name: stage === null ? host : `${stage}@${host}`,
        isAsked: true,
        ...answers,
        diedMs: [],
        silentSinceMs: null,
      };
    }),
  ]);
}

/** Of whom the metrics are: every sample says so. */
const stageIn = (metrics: string): string | null => /\bstage="([\w.-]+)"/.exec(metrics)?.[1] ?? null;

/** Items of one page of a list, the most there may be. */
const LIST_MAX = 1_000;

type Control = Exclude<Observed['control'], string | null>;
type Unread = Extract<Observed['control'], string>;

const isWhole = (control: Omit<Control, 'openDeadLetters'> | Unread | null): boolean =>
  control === null || (typeof control !== 'string' && Object.values(control).every((list) => list !== null));

async function readControl({ askControl }: StatusPorts): Promise<Omit<Control, 'openDeadLetters'> | Unread | null> {
  if (askControl === null) return null;
  const [stages, health, destinations, accounts] = await Promise.all([
    askControl<StagesAnswer>('/stages'),
    askControl<{ items: HealthItem[] }>('/delivery-health'),
    askControl<{ items: DestinationItem[] }>('/destinations', { limit: String(LIST_MAX) }),
    askControl<{ items: AccountItem[] }>('/accounts', { limit: String(LIST_MAX) }),
  ]);
  // Of the four this one needs no part that may be away.
  if (accounts.kind === 'unavailable' && accounts.isSilent) return 'silent';
  if (accounts.kind === 'refused' && accounts.isUnknown) return 'refused';
  return {
    stages: itemsIn(stages),
    destinations: stillThere(itemsIn(health), itemsIn(destinations)),
    accounts: itemsIn(accounts),
  };
}

/** That of destinations that were deleted or disabled says nothing of now. Where the list is not whole, nothing is left out. */
function stillThere(health: HealthItem[] | null, destinations: DestinationItem[] | null): HealthItem[] | null {
  if (health === null || destinations === null || destinations.length === LIST_MAX) return health;
  const enabled = new Set(destinations.filter((one) => one.enabled).map((one) => `${one.site_id} ${one.name}`));
  return health.filter((one) => enabled.has(`${one.site_id} ${one.destination}`));
}

const itemsIn = <Item>(answer: ControlAnswer<{ items: Item[] }>): Item[] | null =>
  answer.kind === 'item' ? answer.item.items : null;

/** Only of stages that wrote some: most never do, and each is a look into a topic. */
async function readOpenDeadLetters(
  { askControl }: StatusPorts,
  processes: ObservedProcesses,
): Promise<Control['openDeadLetters']> {
  const wrote = processes.filter(({ metrics }) =>
    readMetrics(metrics?.body ?? '')('svc_events_dead_total').some(({ value }) => value > 0),
  );
  const stages = [...new Set(wrote.map(({ name }) => stageOfDeadLetters(name)))];
  const answers = stages.map(async (stage) => {
    const letters = await askControl?.<{ items: DeadLetterItem[] }>('/dead-letters', {
      stage,
      state: 'open',
      limit: '1',
    });
    return [stage, letters?.kind === 'item' ? (letters.item.items[0]?.died_at ?? 'none') : null] as const;
  });
  return new Map(await Promise.all(answers));
}

function lineOf({ severity, what, sinceMs, todo }: Finding, nowMs: number): string {
  const since = sinceMs === null ? '' : ` (since ${renderTime(sinceMs)}, ${spanText(nowMs - sinceMs)})`;
  return `${severity.padEnd(10)}${what}${since}\n${' '.repeat(10)}-> ${todo}`;
}

function healthOf({ edge }: Observed): { ok: boolean; says: string } {
  if (edge === null) return { ok: false, says: 'no address is known' };
  const { answer } = edge;
  if (answer === null) return { ok: false, says: 'the edge does not answer' };
  const body = objectIn(answer.body) ?? {};
  if (answer.status !== 200 || body['ok'] !== true) {
    return { ok: false, says: `the edge answers ${answer.status} and accepts nothing` };
  }
  return { ok: true, says: `the edge accepts events; its limits are kept in ${String(body['ratelimit'])}` };
}

/** How one process does, by what it answers itself. */
interface ProcessState {
  name: string;
  ready: boolean;
  says: string;
  /** Offsets it has still to take of what it consumes; null where it does not say. */
  lagRecords: number | null;
}

function stateOf({ name, ready: answer, metrics }: ObservedProcesses[number]): ProcessState {
  if (answer === null) return { name, ready: false, says: 'does not answer', lagRecords: null };
  const isReady = answer.status === 200;
  const lagRecords = metrics?.status === 200 ? lagOf(metrics.body) : null;
  const words = (list: unknown): string | null => (Array.isArray(list) && list.length > 0 ? list.join(', ') : null);
  const parts = objectIn(answer.body) ?? {};
  const [waitingFor, away] = [words(parts['waiting_for']), words(parts['away'])];
  const ability = isReady ? 'ready' : `waiting for ${waitingFor ?? 'an unknown part'}`;
  const state = away === null ? ability : `${ability}, no answer from ${away}`;
  const lag = lagRecords === null ? '' : `, ${lagRecords} ${lagRecords === 1 ? 'record' : 'records'} behind`;
  return { name, ready: isReady, says: `${state}${lag}`, lagRecords };
}

/** The sum over all partitions in the metrics' text; null where there is none. */
function lagOf(metrics: string): number | null {
  const samples = readMetrics(metrics)('svc_lag_records');
  return samples.length === 0 ? null : samples.reduce((sum, { value }) => sum + value, 0);
}

function stagesOf({ control }: Observed): readonly StageItem[] {
  return control === null || typeof control === 'string' ? [] : (control.stages ?? []);
}

function sayOf({ consumers, lag, waits_longer_than_ms: waitsMs, on_lanes: retryTopics }: StageItem): string {
  return [
    consumers === 0 ? 'no consumers' : `consumers: ${consumers}`,
    ...(lag === null ? [] : [`${lag} records behind`]),
    ...(waitsMs === null ? [] : [`the oldest for more than ${waitsMs / 1_000} s`]),
    ...(retryTopics === 0 ? [] : [`${retryTopics} waiting for a retry`]),
  ].join(', ');
}

/** A row for each value; those inside objects are named by their path. */
function rows(facts: object, prefix: string): string[][] {
  return Object.entries(facts).flatMap(([name, value]: [string, unknown]) => {
    // For the findings, which say it in words.
    if (name === 'died_ms' || name === 'said' || name === 'silent_since_ms') return [];
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return rows(value, `${prefix}${name}.`);
    return [[`${prefix}${name}`, typeof value === 'string' ? value : JSON.stringify(value)]];
  });
}
