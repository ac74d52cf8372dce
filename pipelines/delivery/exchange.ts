// Calls to a platform for one batch, halved where the platform refuses events in it.

import { sha256Hex } from '#pipelines/privacy/hash_identifiers.ts';
import { redactText } from '#pipelines/privacy/redact_text.ts';
import type { PlatformAnswer } from '#schemas/records.ts';
import type { Site } from '#schemas/setting.ts';
import { type Fault, SAME_REJECTION_MIN } from './breaker.ts';
import type { Answer, EntryOutcome, EventVerdict, TokenAnswer, Verdict } from './contract.ts';
import {
  dead,
  diverted,
  handedOver,
  type IndexedSerializedEvent,
  paused,
  pausedByBreaker,
  type Run,
  SPLIT_UNFINISHED,
  settle,
  settleAll,
  settleAnswered,
  type UnresolvedEvent,
} from './delivery_run.ts';
import { targetKey } from './destination_id.ts';
import { healthOf } from './platform_http.ts';

/** Calls that one batch may cost while the events the platform refuses in it are being found. */
const SPLIT_CALLS_MAX = 128;
/** Attempts after which an event that was always refused alone is dead, whoever is at fault. */
const DOUBTED_ATTEMPTS_MAX = 3;

type Split = Extract<Verdict, { kind: 'split' }>;

interface Budget {
  callsLeft: number;
}

export const callBudget = (): Budget => ({ callsLeft: SPLIT_CALLS_MAX });

/** Sends a batch where the breaker lets it. */
export async function sendPermitted(run: Run, batch: IndexedSerializedEvent[], budget: Budget): Promise<void> {
  if (run.ports.stopping()) return settleAll(run, batch, handedOver());
  const permit = run.ports.breaker.ask();
  if (permit.kind === 'wait') settleAll(run, batch, pausedByBreaker(permit));
  else await exchange(run, batch, budget);
}

/** Sends a batch and settles its events by the answer, with further calls for the parts of one that was refused. */
export async function exchange(run: Run, batch: IndexedSerializedEvent[], budget: Budget): Promise<void> {
  const called = await call(run, batch);
  if (called === null) return settleAll(run, batch, handedOver());
  const { verdict, isShared, tookMs, answer } = called;
  budget.callsLeft -= 1;
  run.ports.breaker.report(healthOf(verdict), isShared);
  if (verdict.kind !== 'split') {
    const fault = settleVerdict(run, batch, called);
    if (fault !== null) await isDestinationFault(run, [], { ...fault, isShared });
    return;
  }
  if (verdict.isDoubtful === true) return ambiguousRejection(run, batch, called, verdict, budget);
  if (batch.length === 1 || budget.callsLeft <= 0) return void settleVerdict(run, batch, called);
  const { refused, parts } = partsOf(batch, verdict.refusedIndexes ?? []);
  for (const piece of refused) settleAnswered(run, piece, settle(verdict, 1, tookMs)[0], answer);
  for (const part of parts) await sendPermitted(run, part, budget);
}

/** Answers what was said of an event whose refusal may show that it is the destination; null where none does. */
function settleVerdict(
  run: Run,
  batch: IndexedSerializedEvent[],
  { verdict, tookMs, answer }: Pick<Called, 'verdict' | 'tookMs' | 'answer'>,
): FaultyDestination {
  const outcomes = settle(verdict, batch.length, tookMs);
  if (verdict.kind === 'taken_in_part') {
    run.ports.onPartialSuccess({ sent: batch.length, taken: verdict.taken, detail: verdict.detail });
  }
  if (outcomes.some(({ outcome }) => outcome === 'delivered')) noticeTaken(run);
  const doubts = doubtsOf(verdict, batch.length);
  let blamed: FaultyDestination = null;
  for (const [place, piece] of batch.entries()) {
    const said = doubts.get(place);
    if (said === undefined) settleAnswered(run, piece, outcomes[place], answer);
    else blamed = faultyDestinationOf({ ...said, fault: hold(run, { ...said, piece, tookMs, answer }) }, blamed);
  }
  return blamed;
}

/** By their places, the events of a call that were each refused in words that may be about the destination. */
function doubtsOf(verdict: Verdict, count: number): ReadonlyMap<number, Said> {
  if (verdict.kind !== 'per_event' || verdict.verdicts.length !== count) return new Map();
  const isDoubtful = (one: EventVerdict): one is Extract<EventVerdict, { kind: 'dead' }> =>
    one.kind === 'dead' && one.isDoubtful === true;
  return new Map(verdict.verdicts.flatMap((one, place) => (isDoubtful(one) ? [[place, one] as const] : [])));
}

/** What was refused before this is at fault. */
function noticeTaken(run: Run): void {
  run.anyDelivered = true;
  run.ports.rejections.taken();
  for (const held of run.held) held.fault = 'event';
}

/** Where the platform named the events it refuses, the others go again together; else each half goes by itself. */
function partsOf(
  batch: IndexedSerializedEvent[],
  refusedIndexes: readonly number[],
): { refused: IndexedSerializedEvent[]; parts: IndexedSerializedEvent[][] } {
  const named = new Set(refusedIndexes);
  const refused = batch.filter((_, place) => named.has(place));
  const rest = batch.filter((_, place) => !named.has(place));
  if (refused.length > 0) return { refused, parts: rest.length === 0 ? [] : [rest] };
  return { refused, parts: halvesOf(batch) };
}

function halvesOf(batch: IndexedSerializedEvent[]): IndexedSerializedEvent[][] {
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)].filter(({ length }) => length > 0);
}

interface Said {
  reason: string;
  detail: string;
}

type FaultyDestination = (Said & { fault: 'destination' | 'again' }) | null;

function faultyDestinationOf(
  { fault, reason, detail }: Said & { fault: Fault },
  before: FaultyDestination = null,
): FaultyDestination {
  if (fault !== 'destination' && fault !== 'again') return before;
  return before?.fault === 'destination' ? before : { fault, reason, detail };
}

/**
 * Finds out whether it is the destination, as what was refused makes it seem. Events of the job that were not refused
 * before are tried first, from all over what is left of it, so that the first ones do not speak for those behind them.
 */
async function isDestinationFault(
  run: Run,
  rest: readonly IndexedSerializedEvent[],
  blamed: NonNullable<FaultyDestination> & { isShared: boolean },
): Promise<boolean> {
  if (!run.isDestinationBlamed) {
    run.asking ??= probeOtherEvents(run, blamed.fault).finally(() => {
      run.asking = null;
    });
    if ((await run.asking) && !run.isDestinationBlamed) markDestinationFaulty(run, blamed);
  }
  if (run.isDestinationBlamed) settleAll(run, rest, paused(blamed.reason, blamed.detail, null));
  return run.isDestinationBlamed;
}

async function probeOtherEvents(run: Run, before: Fault): Promise<boolean> {
  run.anyDelivered = false;
  const budget = callBudget();
  let fault = before;
  for (const piece of spread(unknownOf(run, run.queue.flat()), SAME_REJECTION_MIN)) {
    if (run.anyDelivered || (fault !== 'destination' && fault !== 'again')) break;
    for (const batch of run.queue.splice(0)) {
      const left = batch.filter((one) => one !== piece);
      if (left.length > 0) run.queue.push(left);
    }
    fault = await faultOf(run, piece, budget);
  }
  return !run.anyDelivered && fault === 'destination';
}

const unknownOf = (run: Run, pieces: readonly IndexedSerializedEvent[]): IndexedSerializedEvent[] =>
  pieces.filter(({ entry }) => !run.ports.rejections.isKnown(entry.event.event_id));

/** It is the destination: what was refused is not dead, and nothing more is sent until its settings change. */
function markDestinationFaulty(run: Run, { reason, isShared }: Said & { isShared: boolean }): void {
  run.isDestinationBlamed = true;
  run.ports.breaker.report({ kind: 'credentials_broken', reason }, isShared);
}

/**
 * The platform refused a batch in words that may be about an event or about the destination: an unknown pixel is
 * answered as a bad field is. A few events from all over the batch are sent by themselves; where it takes one of them,
 * those that it refuses are at fault, and where it refuses all the destination is.
 */
async function ambiguousRejection(
  run: Run,
  batch: IndexedSerializedEvent[],
  called: Called,
  verdict: Split,
  budget: Budget,
): Promise<void> {
  const [only] = batch;
  if (batch.length === 1 && only !== undefined) {
    const { tookMs, answer } = called;
    const blamed = faultyDestinationOf({ ...verdict, fault: hold(run, { ...verdict, piece: only, tookMs, answer }) });
    if (blamed !== null) await isDestinationFault(run, [], { ...blamed, isShared: called.isShared });
    return;
  }
  const unknown = unknownOf(run, batch);
  const picks = spread(unknown.length > 0 ? unknown : batch, SAME_REJECTION_MIN);
  let fault: Fault = 'open';
  let asked = 0;
  for (const piece of picks) {
    if (run.anyDelivered || run.isDestinationBlamed || budget.callsLeft <= 0) break;
    asked += 1;
    fault = await faultOf(run, piece, budget);
  }
  const rest = batch.filter((piece) => !picks.slice(0, asked).includes(piece));
  const blamed = run.anyDelivered || asked < picks.length ? null : faultyDestinationOf({ ...verdict, fault });
  if (blamed !== null && (await isDestinationFault(run, rest, { ...blamed, isShared: called.isShared }))) return;
  if (run.isDestinationBlamed || (blamed?.fault === 'again' && !run.anyDelivered)) {
    return settleAll(run, rest, paused(verdict.reason, verdict.detail, null));
  }
  if (budget.callsLeft <= 0 || fault === 'unclear') return leaveOpen(run, rest, verdict, called);
  const isFound = run.held.some(({ piece }) => picks.includes(piece));
  for (const part of isFound || rest.length === 1 ? [rest] : halvesOf(rest)) {
    if (part.length > 0) await sendPermitted(run, part, budget);
  }
}

/** Nobody knows yet which of these is at fault, if any: they are searched further at the next attempt. */
function leaveOpen(
  run: Run,
  rest: readonly IndexedSerializedEvent[],
  { detail }: Said,
  { tookMs, answer }: Called,
): void {
  for (const piece of rest) settleAnswered(run, piece, { ...diverted(SPLIT_UNFINISHED, detail), tookMs }, answer);
}

/** The breaker is not asked: what is open is the very question whether the destination works. */
async function faultOf(run: Run, piece: IndexedSerializedEvent, budget: Budget): Promise<Fault> {
  const called = await call(run, [piece]);
  if (called === null) {
    settleAll(run, [piece], handedOver());
    return 'open';
  }
  budget.callsLeft -= 1;
  run.ports.breaker.report(healthOf(called.verdict), called.isShared);
  const { verdict, tookMs, answer } = called;
  if (verdict.kind === 'split' && verdict.isDoubtful === true) return hold(run, { ...verdict, piece, tookMs, answer });
  return settleVerdict(run, [piece], called)?.fault ?? 'open';
}

/** Keeps what becomes of an event open to the end of the job; answers whose fault it is by what is known now. */
function hold(run: Run, refusal: Omit<UnresolvedEvent, 'fault'>): Fault {
  const { event } = refusal.piece.entry;
  const fault = run.ports.rejections.refused(refusal.reason, event.event_id);
  run.held.push({ ...refusal, fault });
  return fault;
}

function spread(batch: readonly IndexedSerializedEvent[], count: number): IndexedSerializedEvent[] {
  const step = Math.max(1, batch.length / count);
  return Array.from({ length: Math.min(count, batch.length) }, (_, index) => batch[Math.floor(index * step)]).filter(
    (piece) => piece !== undefined,
  );
}

/** Settles the events that were refused by themselves, at the end of a job, by whose fault it is. */
export function settleUnresolved(run: Run): void {
  for (const { tookMs, piece, answer, ...held } of run.held.splice(0)) {
    settleAnswered(run, piece, { ...heldOutcome(run, held), tookMs }, answer);
  }
}

/** What is paused is no attempt. Where too little is known, the event is tried again when more may be known. */
function heldOutcome(
  run: Run,
  { reason, detail, fault }: Pick<UnresolvedEvent, 'reason' | 'detail' | 'fault'>,
): EntryOutcome {
  if (fault === 'event') return dead(reason, detail);
  if (run.isDestinationBlamed || fault === 'destination' || fault === 'again') return paused(reason, detail, null);
  const isDead = fault === 'open' && run.job.attempt >= DOUBTED_ATTEMPTS_MAX;
  return isDead ? dead(reason, detail) : diverted(reason, detail);
}

/** What came of one call. */
interface Called {
  verdict: Verdict;
  /** Whether an address was called that all sites share. */
  isShared: boolean;
  tookMs: number;
  answer: PlatformAnswer | null;
}

/**
 * Sends a batch, when its turn has come and there is a token where one is needed. Null where the process was to stop
 * before that: nothing was sent.
 */
function call(run: Run, batch: readonly IndexedSerializedEvent[]): Promise<Called | null> {
  const { ports, job, concurrencyMax } = run;
  return ports.turns.run(targetKey(job.site.site_id, job.destination), concurrencyMax, () => callNow(run, batch));
}

async function callNow(run: Run, batch: readonly IndexedSerializedEvent[]): Promise<Called | null> {
  const { job, ports, settings, timeoutMs } = run;
  if (ports.stopping()) return null;
  const startedMs = ports.monotonicMs();
  run.token ??= tokenFor(run);
  const token = await run.token;
  if (token.kind === 'none') {
    return { verdict: token.verdict, isShared: false, tookMs: ports.monotonicMs() - startedMs, answer: null };
  }
  if (ports.stopping()) return null;
  const group = batch[0]?.group ?? '';
  const { destination, baseUrl } = job;
  const context = { destination, settings, baseUrl, group, token: token.token, nowMs: ports.nowMs() };
  const request = job.adapter.request(batch, context);
  const sentIds = batch.map(({ dedupId }) => dedupId);
  const answered = await ports.send(request, timeoutMs, batch);
  const verdict = job.adapter.classify(answered, sentIds);
  if (verdict.kind === 'credentials_broken') forgetToken(run);
  const answer = answerExcerpt(answered, [...Object.values(job.secrets), token.token], countriesOf(job.site));
  return { verdict, isShared: request.trusted, tookMs: ports.monotonicMs() - startedMs, answer };
}

const countriesOf = ({ default_country }: Site): string[] => (default_country === null ? [] : [default_country]);

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
  const nowMs = ports.monotonicMs();
  const key = tokenKey(run);
  const known = ports.tokens.get(key, nowMs);
  if (known !== null) return { kind: 'token', token: known, lifetimeMs: 0 };
  const asked = authorisation.request({ settings, baseUrl: job.baseUrl, nowMs: ports.nowMs() });
  if (asked.kind === 'none') return asked;
  const answer = authorisation.read(await ports.send(asked.request, timeoutMs, []));
  if (answer.kind === 'token') ports.tokens.put(key, answer.token, nowMs + answer.lifetimeMs);
  return answer;
}

/** Of the answer's text that is looked at. */
const READ_CHARACTERS_MAX = 1_024;
/** At the end of a text that was cut, what may be half an address or number, and so unknown as one. */
const CUT_CHARACTERS = 320;
const EXCERPT_CHARACTERS_MAX = 256;
/** Shorter values, such as a test code, are words of any text. */
const SECRET_CHARACTERS_MIN = 6;
const HIDDEN = '***';

/** Digests, and what is as long as tokens are; a UUID or a request's id is shorter. */
const DIGESTS = /\b[0-9a-f]{32,}\b/gi;
const TOKENS = /[\w~+/=.-]{40,}/g;
const IPV4 = /\b\d{1,3}(?:\.\d{1,3}){3}\b/g;
/** Two colons side by side, or four of them: a time of day has fewer. */
const IPV6 = /(?<![\w:])(?=[0-9a-f:]*::|(?:[0-9a-f]+:){4})[0-9a-f:]{3,39}(?![\w:])/gi;

/**
 * The status of a platform's answer and the begin of what it says, on one line: without e-mail addresses and phone numbers,
 * digests, network addresses, and anything that may be a secret. Null where there was no answer.
 *
 * @param secrets Opened secrets and tokens of the call.
 * @param countries Those by whose numbering plans phone numbers are recognised.
 */
export function answerExcerpt(
  answer: Answer,
  secrets: readonly string[],
  countries: readonly string[],
): PlatformAnswer | null {
  if (answer.kind === 'no_answer') return null;
  const whole = withoutSecrets(answer.body, secrets);
  const text = redactText(whole.slice(0, READ_CHARACTERS_MAX), true, countries);
  const clean = (whole.length > READ_CHARACTERS_MAX ? text.slice(0, -CUT_CHARACTERS) : text)
    .replace(DIGESTS, HIDDEN)
    .replace(TOKENS, HIDDEN)
    .replace(IPV4, HIDDEN)
    .replace(IPV6, HIDDEN)
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim();
  return { status: answer.status, body: clean.slice(0, EXCERPT_CHARACTERS_MAX).toWellFormed() };
}

/** In the whole text, so that no secret is cut in two. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length < SECRET_CHARACTERS_MIN) continue;
    for (const written of waysToWrite(secret)) clean = clean.replaceAll(written, HIDDEN);
  }
  return clean;
}

/** A secret as itself, in JSON (with and without its slashes escaped, as PHP writes it) and in a URL. */
function waysToWrite(secret: string): Set<string> {
  const inJson = JSON.stringify(secret).slice(1, -1);
  return new Set([secret, inJson, inJson.replaceAll('/', '\\/'), encodeURIComponent(secret.toWellFormed())]);
}
