import type { EventEntry } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import { batchEventsMax, cutBatches } from './batches.ts';
import type { BreakerPort } from './breakers.ts';
import type { Adapter, Answer, EntryOutcome, HttpRequest, Piece, TokenAnswer, Verdict } from './contract.ts';
import { prepare } from './eligibility.ts';
import { sha256Hex } from './hash.ts';
import { dead, handedOver, paused, pausedByBreaker, settle, skipped } from './outcomes.ts';
import { readSettings } from './settings.ts';
import type { TokenStore } from './tokens.ts';
import type { Turns } from './turns.ts';
import { healthOf } from './verdicts.ts';

/** Calls that one batch may cost while the events the platform refuses in it are being found. */
const SPLIT_CALLS_MAX = 128;

/** How long events wait for a site's settings to become valid before they are looked at again. */
const SETTINGS_WAIT_MS = 60_000;

/** Events of one site for one destination. */
export interface DeliveryJob {
  adapter: Adapter;
  site: Site;
  settings: Record<string, string>;
  /** Opened secrets. */
  secrets: Record<string, string>;
  /** Overrides the platform's address for the whole process; null in production. */
  baseUrl: string | null;
  entries: readonly EventEntry[];
  /** The attempt being made, from 1. */
  attempt: number;
  nowMs: number;
}

export interface DeliveryPorts {
  /** Makes the call; never rejects, as no answer is an Answer too. */
  send(request: HttpRequest, timeoutMs: number): Promise<Answer>;
  nowMs(): number;
  /** The breaker of this destination and site. */
  breaker: BreakerPort;
  /** Bounds the calls in flight of this destination, for each site and in all. */
  turns: Turns;
  /** Short-lived tokens of destinations that need one. */
  tokens: TokenStore;
  /** Whether no further call is to be begun: somebody else goes on with what is left. */
  stopping(): boolean;
  /** Told of each outcome that an answer, or the lack of one, gave, as soon as it is known. */
  answered(entry: EventEntry, outcome: EntryOutcome): void;
}

interface IndexedPiece extends Piece {
  index: number;
}

/** What the calls of one job share. */
interface Run {
  job: DeliveryJob;
  ports: DeliveryPorts;
  settings: unknown;
  timeoutMs: number;
  concurrencyMax: number;
  outcomes: EntryOutcome[];
  /** The one exchange for a token that the calls of the job wait for. */
  token: Promise<TokenAnswer> | null;
}

/**
 * Takes the events of one site to one destination, once: decides which are eligible, maps them, sends them in batches and
 * reads the answers. A batch that is refused because of an event in it is halved until that event stands alone, so that
 * it fails by itself; with one such event among n this takes about 2 log2(n) calls.
 *
 * @returns an outcome for each entry, in the order of the entries. `paused` is no attempt: nothing was judged, because
 * the breaker is open, the settings are not valid, the platform no longer takes the credentials, or the process was to
 * stop before the event's turn came.
 */
export async function deliver(job: DeliveryJob, ports: DeliveryPorts): Promise<EntryOutcome[]> {
  const read = readSettings(job.adapter, job.settings, job.secrets);
  if (read.kind === 'invalid')
    return job.entries.map(() => paused('settings_invalid', read.fields.join(', '), SETTINGS_WAIT_MS));
  const limits = job.adapter.limits(read.settings);
  const { timeoutMs, concurrencyMax } = limits;
  const run: Run = { job, ports, settings: read.settings, timeoutMs, concurrencyMax, outcomes: [], token: null };
  const pieces = job.entries.flatMap((entry, index) => preparePiece(run, entry, index));
  const bytesMax = limits.batchBytesMax - job.adapter.overheadBytes(read.settings);
  await sendAll(run, cutBatches(pieces, batchEventsMax(limits, job.attempt), bytesMax), concurrencyMax);
  return run.outcomes;
}

/** An event that cannot be read or mapped is dead by itself; the error's message may hold its data and is left out. */
function preparePiece(run: Run, entry: EventEntry, index: number): IndexedPiece[] {
  const { adapter, site, nowMs } = run.job;
  try {
    const mapped = prepare(adapter, site, run.settings, entry, nowMs);
    if (mapped.kind === 'skip') {
      run.outcomes[index] = skipped(mapped.reason);
      return [];
    }
    const json = JSON.stringify(mapped.form);
    return [{ entry, index, json, bytes: Buffer.byteLength(json), group: mapped.group }];
  } catch (error) {
    run.outcomes[index] = dead('map_failed', error instanceof Error ? error.name : typeof error);
    return [];
  }
}

/** When the breaker lets one call through to test the platform, that call goes first and alone. */
async function sendAll(run: Run, batches: IndexedPiece[][], concurrencyMax: number): Promise<void> {
  const queue = [...batches];
  const first = queue.shift();
  if (first === undefined) return;
  if (run.ports.stopping()) return settleAll(run, batches.flat(), handedOver());
  const permit = run.ports.breaker.ask();
  if (permit.kind === 'wait') return settleAll(run, batches.flat(), pausedByBreaker(permit));
  if (permit.kind === 'probe') await exchange(run, first, { callsLeft: SPLIT_CALLS_MAX });
  else queue.unshift(first);
  const worker = async (): Promise<void> => {
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) {
      await sendPermitted(run, batch, { callsLeft: SPLIT_CALLS_MAX });
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrencyMax, queue.length) }, worker));
}

async function sendPermitted(run: Run, batch: IndexedPiece[], budget: { callsLeft: number }): Promise<void> {
  if (run.ports.stopping()) return settleAll(run, batch, handedOver());
  const permit = run.ports.breaker.ask();
  if (permit.kind === 'wait') settleAll(run, batch, pausedByBreaker(permit));
  else await exchange(run, batch, budget);
}

async function exchange(run: Run, batch: IndexedPiece[], budget: { callsLeft: number }): Promise<void> {
  const { ports, job, concurrencyMax } = run;
  const called = await ports.turns.run(job.site.site_id, concurrencyMax, () => call(run, batch));
  if (called === null) return settleAll(run, batch, handedOver());
  const { verdict, isShared, tookMs } = called;
  budget.callsLeft -= 1;
  ports.breaker.report(healthOf(verdict), isShared);
  if (verdict.kind !== 'split' || batch.length === 1 || budget.callsLeft <= 0) {
    const outcomes = settle(verdict, batch.length, tookMs);
    for (const [place, piece] of batch.entries()) settleAnswered(run, piece, outcomes[place]);
    return;
  }
  const { refused, parts } = partsOf(batch, verdict.culprits ?? []);
  for (const piece of refused) settleAnswered(run, piece, settle(verdict, 1, tookMs)[0]);
  for (const part of parts) await sendPermitted(run, part, budget);
}

/** Where the platform named the events it refuses, the others go again together; else each half goes by itself. */
function partsOf(
  batch: IndexedPiece[],
  culprits: readonly number[],
): { refused: IndexedPiece[]; parts: IndexedPiece[][] } {
  const named = new Set(culprits);
  const refused = batch.filter((_, place) => named.has(place));
  const rest = batch.filter((_, place) => !named.has(place));
  if (refused.length > 0) return { refused, parts: rest.length === 0 ? [] : [rest] };
  const middle = Math.ceil(batch.length / 2);
  return { refused, parts: [batch.slice(0, middle), batch.slice(middle)] };
}

interface Called {
  verdict: Verdict;
  /** Whether an address was called that all sites share. */
  isShared: boolean;
  tookMs: number;
}

/** Null where the process was to stop while the call waited for its turn or its token. */
async function call(run: Run, batch: IndexedPiece[]): Promise<Called | null> {
  const { job, ports, settings, timeoutMs } = run;
  if (ports.stopping()) return null;
  const startedMs = ports.nowMs();
  run.token ??= tokenFor(run);
  const token = await run.token;
  if (token.kind === 'none') return { verdict: token.verdict, isShared: false, tookMs: ports.nowMs() - startedMs };
  if (ports.stopping()) return null;
  const group = batch[0]?.group ?? '';
  const context = { settings, baseUrl: job.baseUrl, group, token: token.token, nowMs: startedMs };
  const request = job.adapter.request(batch, context);
  const eventIds = batch.map((piece) => piece.entry.event.event_id);
  const verdict = job.adapter.classify(await ports.send(request, timeoutMs), eventIds);
  if (verdict.kind === 'credentials_broken') forgetToken(run);
  return { verdict, isShared: request.trusted, tookMs: ports.nowMs() - startedMs };
}

/** A token belongs to the very credentials it was given for. */
const tokenKey = ({ job, settings }: Run): string =>
  sha256Hex(JSON.stringify([job.adapter.name, job.site.site_id, settings]));

function forgetToken(run: Run): void {
  if (run.job.adapter.authorisation === undefined) return;
  run.ports.tokens.forget(tokenKey(run));
  run.token = null;
}

async function tokenFor(run: Run): Promise<TokenAnswer> {
  const { job, ports, settings, timeoutMs } = run;
  const { authorisation } = job.adapter;
  if (authorisation === undefined) return { kind: 'token', token: '', lifetimeMs: 0 };
  const nowMs = ports.nowMs();
  const key = tokenKey(run);
  const known = ports.tokens.get(key, nowMs);
  if (known !== null) return { kind: 'token', token: known, lifetimeMs: 0 };
  const asked = authorisation.request({ settings, baseUrl: job.baseUrl, nowMs });
  if (asked.kind === 'none') return asked;
  const answer = authorisation.read(await ports.send(asked.request, timeoutMs));
  if (answer.kind === 'token') ports.tokens.put(key, answer.token, nowMs + answer.lifetimeMs);
  return answer;
}

function settleAnswered(run: Run, piece: IndexedPiece, outcome: EntryOutcome | undefined): void {
  if (outcome === undefined) return;
  run.outcomes[piece.index] = outcome;
  run.ports.answered(piece.entry, outcome);
}

function settleAll(run: Run, batch: readonly IndexedPiece[], outcome: EntryOutcome | undefined): void {
  for (const piece of batch) if (outcome !== undefined) run.outcomes[piece.index] = outcome;
}
