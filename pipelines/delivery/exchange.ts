import { type Called, call } from './call.ts';
import type { EntryOutcome, Verdict } from './contract.ts';
import { dead, diverted, handedOver, paused, pausedByBreaker, settle } from './outcomes.ts';
import { type Fault, REFUSED_ALIKE_MIN } from './refusals.ts';
import { type HeldPiece, type IndexedPiece, type Run, settleAll, settleAnswered } from './run.ts';
import { healthOf } from './verdicts.ts';

/** Calls that one batch may cost while the events the platform refuses in it are being found. */
const SPLIT_CALLS_MAX = 128;
/** Attempts after which an event that was always refused alone is dead, whoever is at fault. */
const DOUBTED_ATTEMPTS_MAX = 3;

type Split = Extract<Verdict, { kind: 'split' }>;

export interface Budget {
  callsLeft: number;
}

export const newBudget = (): Budget => ({ callsLeft: SPLIT_CALLS_MAX });

/** Sends a batch where the breaker lets it. */
export async function sendPermitted(run: Run, batch: IndexedPiece[], budget: Budget): Promise<void> {
  if (run.ports.stopping()) return settleAll(run, batch, handedOver());
  const permit = run.ports.breaker.ask();
  if (permit.kind === 'wait') settleAll(run, batch, pausedByBreaker(permit));
  else await exchange(run, batch, budget);
}

/** Sends a batch and settles its events by the answer, with further calls for the parts of one that was refused. */
export async function exchange(run: Run, batch: IndexedPiece[], budget: Budget): Promise<void> {
  const called = await call(run, batch);
  if (called === null) return settleAll(run, batch, handedOver());
  const { verdict, isShared, tookMs } = called;
  budget.callsLeft -= 1;
  run.ports.breaker.report(healthOf(verdict), isShared);
  const alike = run.hasTaken ? null : refusedAlike(verdict);
  if (alike !== null) return blame(run, batch, alike, isShared);
  if (verdict.kind !== 'split') return settleVerdict(run, batch, called);
  if (verdict.isDoubtful === true) return refusedInDoubt(run, batch, called, verdict, budget);
  if (batch.length === 1 || budget.callsLeft <= 0) return settleVerdict(run, batch, called);
  const { refused, parts } = partsOf(batch, verdict.culprits ?? []);
  for (const piece of refused) settleAnswered(run, piece, settle(verdict, 1, tookMs)[0]);
  for (const part of parts) await sendPermitted(run, part, budget);
}

function settleVerdict(run: Run, batch: IndexedPiece[], { verdict, tookMs }: Pick<Called, 'verdict' | 'tookMs'>): void {
  const outcomes = settle(verdict, batch.length, tookMs);
  if (verdict.kind === 'taken_in_part') {
    run.ports.fellShort({ sent: batch.length, taken: verdict.taken, detail: verdict.detail });
  }
  for (const [place, piece] of batch.entries()) settleAnswered(run, piece, outcomes[place]);
  if (!outcomes.some(({ outcome }) => outcome === 'delivered')) return;
  run.hasTaken = true;
  run.ports.refusals.taken();
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
  return { refused, parts: halvesOf(batch) };
}

function halvesOf(batch: IndexedPiece[]): IndexedPiece[][] {
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)].filter(({ length }) => length > 0);
}

interface Said {
  reason: string;
  detail: string;
}

/** What the platform said of each of several events, where it refused all alike and may mean the destination. */
function refusedAlike(verdict: Verdict): Said | null {
  if (verdict.kind !== 'per_event' || verdict.verdicts.length < REFUSED_ALIKE_MIN) return null;
  const [first] = verdict.verdicts;
  if (first?.kind !== 'dead' || first.isDoubtful !== true) return null;
  return verdict.verdicts.every((one) => one.kind === 'dead' && one.reason === first.reason) ? first : null;
}

/** It is the destination: nothing that was refused is dead, and nothing more is sent until its settings change. */
function blame(run: Run, batch: readonly IndexedPiece[], { reason, detail }: Said, isShared: boolean): void {
  run.isBlamed = true;
  run.ports.breaker.report({ kind: 'credentials_broken', reason }, isShared);
  const held = run.held.splice(0).map(({ piece }) => piece);
  settleAll(run, [...held, ...batch], paused(reason, detail, null));
}

/**
 * The platform refused a batch in words that may be about an event or about the destination: an unknown pixel is
 * answered as a bad field is. A few events from all over the batch are sent by themselves; where it takes one of them,
 * those that it refuses are at fault, and where it refuses all the destination is.
 */
async function refusedInDoubt(
  run: Run,
  batch: IndexedPiece[],
  called: Called,
  verdict: Split,
  budget: Budget,
): Promise<void> {
  const [only] = batch;
  if (batch.length === 1 && only !== undefined) {
    const fault = hold(run, { ...verdict, piece: only, tookMs: called.tookMs });
    if (fault === 'destination') blame(run, [], verdict, called.isShared);
    return;
  }
  const picks = spread(batch, REFUSED_ALIKE_MIN);
  let fault: Fault = 'open';
  let asked = 0;
  for (const piece of picks) {
    if (run.hasTaken || run.isBlamed || budget.callsLeft <= 0) break;
    asked += 1;
    fault = await faultOf(run, piece, budget);
  }
  const rest = batch.filter((piece) => !picks.slice(0, asked).includes(piece));
  if (run.isBlamed || (fault === 'destination' && !run.hasTaken && asked === picks.length)) {
    return blame(run, rest, verdict, called.isShared);
  }
  if (budget.callsLeft <= 0) return settleVerdict(run, rest, called);
  const isFound = run.held.some(({ piece }) => picks.includes(piece));
  for (const part of isFound || rest.length === 1 ? [rest] : halvesOf(rest)) {
    if (part.length > 0) await sendPermitted(run, part, budget);
  }
}

/** The breaker is not asked: what is open is the very question whether the destination works. */
async function faultOf(run: Run, piece: IndexedPiece, budget: Budget): Promise<Fault> {
  const called = await call(run, [piece]);
  if (called === null) {
    settleAll(run, [piece], handedOver());
    return 'open';
  }
  budget.callsLeft -= 1;
  run.ports.breaker.report(healthOf(called.verdict), called.isShared);
  const { verdict, tookMs } = called;
  if (verdict.kind === 'split' && verdict.isDoubtful === true) return hold(run, { ...verdict, piece, tookMs });
  settleVerdict(run, [piece], called);
  return 'open';
}

/** Keeps what becomes of an event open to the end of the job; answers whose fault it is by what is known now. */
function hold(run: Run, refusal: Omit<HeldPiece, 'fault'>): Fault {
  const { event } = refusal.piece.entry;
  const fault = run.hasTaken ? 'event' : run.ports.refusals.refused(refusal.reason, event.event_id);
  run.held.push({ ...refusal, fault });
  return fault;
}

function spread(batch: readonly IndexedPiece[], count: number): IndexedPiece[] {
  const step = Math.max(1, batch.length / count);
  return Array.from({ length: Math.min(count, batch.length) }, (_, index) => batch[Math.floor(index * step)]).filter(
    (piece) => piece !== undefined,
  );
}

/**
 * Settles the events that were refused by themselves, at the end of a job. Where the platform took others, in the job or
 * not long before, they are at fault; else they are tried again some time later, when more may be known.
 */
export function settleHeld(run: Run): void {
  for (const { piece, reason, detail, tookMs, fault } of run.held.splice(0)) {
    const isDead = run.hasTaken || fault === 'event' || run.job.attempt >= DOUBTED_ATTEMPTS_MAX;
    const outcome: EntryOutcome = isDead ? dead(reason, detail) : diverted(reason, detail);
    settleAnswered(run, piece, { ...outcome, tookMs });
  }
}
