import { recoveryOf } from '#infra/errors.ts';
import type { InBatch } from '#infra/kafka/consumer/in_batch.ts';
import { type Stage, TOPICS } from '#infra/kafka/topics.ts';
import { deadLetter } from '#pipelines/dead_letter.ts';
import { isolate } from '#pipelines/isolate.ts';
import type { Coordinate } from '#schemas/event.ts';
import { createBatchWriter, type EntryView } from '#schemas/event_batch.ts';
import type { DeadLetter } from '#schemas/records.ts';

/** Where a stage works on events, and how it names those that it cannot work on. */
export interface EventWork {
  stage: Stage;
  batch: Pick<InBatch, 'topic' | 'partition'>;
  /** Schema id under which an event's bytes are kept. */
  schemaId: number;
  nowMs: number;
}

export interface Isolated<R> {
  /** Results over the events that could be worked on, in their order. */
  results: R[];
  dead: DeadLetter[];
}

/**
 * Does work over events; one that makes it throw is found by halving and becomes a dead letter, and its neighbours pass.
 * Errors that say how to recover from them are no event's fault and are thrown. `work` may be called again for the same
 * events.
 */
export async function isolatePoisonPills<T, R>(
  { stage, batch, schemaId, nowMs }: EventWork,
  events: readonly T[],
  viewOf: (event: T) => { view: EntryView; coordinate: Coordinate | null },
  work: (events: readonly T[]) => Promise<R>,
): Promise<Isolated<R>> {
  const { results, poisonPills } = await isolate(events, work, isNotForeseen);
  const dead = poisonPills.map(({ item, error }) => {
    const { view, coordinate } = viewOf(item);
    const writer = createBatchWriter(schemaId);
    writer.add(coordinate, view.personBytes, view.eventBytes);
    const nowhere = { partition: batch.partition, offset: -1, index: -1 };
    const place = { stage, topic: coordinate === null ? batch.topic : TOPICS.raw, ...(coordinate ?? nowhere) };
    return deadLetter(place, 'transform_failed', kindOf(error), writer.finish(), nowMs);
  });
  return { results, dead };
}

/** An error without a way to recover. */
export function isNotForeseen(error: unknown): boolean {
  const says = error instanceof Error && 'recovery' in error;
  return !says && recoveryOf(error) === 'stop';
}

/** Name and code: an error's message may quote what it was about. */
export function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code } = error as Error & { code?: unknown };
  return typeof code === 'string' ? `${error.name} ${code}` : error.name;
}
