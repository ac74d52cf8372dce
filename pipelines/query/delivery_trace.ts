import type { EventTrace } from './event_trace_shapes.ts';

/** A row of delivery_outcomes; times in milliseconds since 1970 UTC. */
export interface AttemptRow {
  destination: string;
  attempt: number;
  attempted: number;
  /** When the event arrived. */
  received: number;
  outcome: string;
  reason: string;
  took_ms: number;
  /** 0 where there was no answer, or none was kept. */
  answer_status: number;
  answer: string;
}

/** A destination of a site as its settings have it. */
export interface TracedDestination {
  name: string;
  enabled: boolean;
  /** Events received before are not sent; null: whenever they came. Milliseconds since 1970 UTC. */
  createdAtMs: number | null;
}

type Trace = EventTrace['destinations'][number];

const STATES: Readonly<Record<string, Trace['state']>> = {
  delivered: 'delivered',
  skipped: 'skipped',
  dead: 'dead',
  diverted: 'waiting',
  paused: 'waiting',
};

/** What became of an event at each destination, by name: those with an attempt, and those of the settings. */
export function destinationTraces(
  attempts: readonly AttemptRow[],
  destinations: readonly TracedDestination[],
  receivedAtMs: number | null,
): Trace[] {
  const byName = Map.groupBy(attempts, ({ destination }) => destination);
  const untried = destinations.filter(({ name }) => !byName.has(name));
  const traces = [
    ...[...byName].map(([name, made]) => attemptedTrace(name, made.toSorted(byTime))),
    ...untried.map((one) => untriedTrace(one, receivedAtMs)),
  ];
  return traces.sort((a, b) => (a.destination < b.destination ? -1 : 1));
}

const byTime = (a: AttemptRow, b: AttemptRow): number => a.attempted - b.attempted || a.attempt - b.attempt;

/** Once delivered it stays so: a replay that is not taken takes nothing back. */
function attemptedTrace(destination: string, made: readonly AttemptRow[]): Trace {
  const newest = made.at(-1);
  const isDelivered = made.some(({ outcome }) => outcome === 'delivered');
  const state = isDelivered ? 'delivered' : (STATES[newest?.outcome ?? ''] ?? 'not_attempted');
  return {
    destination,
    state,
    reason: isDelivered ? '' : (newest?.reason ?? ''),
    attempts: made.map(({ attempt, attempted, outcome, reason, took_ms, answer_status, answer }) => ({
      attempt,
      attempted_at: attempted,
      outcome,
      reason,
      took_ms,
      answer: answer_status === 0 ? null : { status: answer_status, body: answer },
    })),
  };
}

/** Of new events that these settings leave out delivery stores no outcome. */
function untriedTrace({ name, enabled, createdAtMs }: TracedDestination, receivedAtMs: number | null): Trace {
  const isEarly = receivedAtMs !== null && receivedAtMs < (createdAtMs ?? 0);
  const reason = isEarly ? 'before_destination' : enabled ? '' : 'destination_disabled';
  return { destination: name, state: 'not_attempted', reason, attempts: [] };
}
