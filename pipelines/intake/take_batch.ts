import type { Event } from '#schemas/event.ts';
import { openCall } from './call.ts';
import type { Call, DropReason, EventWarning, IntakeContext } from './intake_types.ts';
import type { RejectionCode } from './rejections.ts';
import { takeEvent } from './take_event.ts';

export type Rejection = { index: number; code: RejectionCode; message: string };
type Drop = { index: number; reason: DropReason };
type Warned = { index: number; code: EventWarning };
export interface TakenBatch {
  taken: Event[];
  rejected: Rejection[];
  dropped: Drop[];
  /** Of those that were taken. */
  warned: Warned[];
  /** What it cost, in the steps of `Effort`. */
  steps: number;
}

/** The turns of the event loop in which long work is done. */
export interface Turns {
  /** Whether this turn has lasted so long that others wait. */
  isOver(): boolean;
  /** Resolves in the next one. */
  next(): Promise<void>;
}

/**
 * Turns the events of one request into events ready for encoding, without any raw e-mail address, phone number or
 * name. Each event is taken, rejected (it was malformed) or dropped (a robot's, or blocked by the site); `index` is its
 * place in the request.
 */
export function takeBatch(events: readonly unknown[], context: IntakeContext): TakenBatch {
  const call = openCall(context, events.length);
  const batch = emptyBatch();
  for (let index = 0; index < events.length; index += 1) takeOne(events, index, call, batch);
  return { ...batch, steps: call.effort.made.steps };
}

/** The same in several turns of the event loop where it is long: one ends with the event in which it is over. */
export async function takeBatchInTurns(
  events: readonly unknown[],
  context: IntakeContext,
  turns: Turns,
): Promise<TakenBatch> {
  const call = openCall(context, events.length);
  const batch = emptyBatch();
  for (let index = 0; index < events.length; index += 1) {
    if (turns.isOver()) await turns.next();
    takeOne(events, index, call, batch);
  }
  return { ...batch, steps: call.effort.made.steps };
}

function emptyBatch(): TakenBatch {
  return { taken: [], rejected: [], dropped: [], warned: [], steps: 0 };
}

function takeOne(events: readonly unknown[], index: number, call: Call, batch: TakenBatch): void {
  const outcome = takeEvent(events[index], call);
  switch (outcome.kind) {
    case 'taken':
      batch.taken.push(outcome.event);
      for (const code of outcome.warnings) batch.warned.push({ index, code });
      break;
    case 'rejected':
      batch.rejected.push({ index, code: outcome.code, message: outcome.message });
      break;
    case 'dropped':
      batch.dropped.push({ index, reason: outcome.reason });
      break;
  }
}
