interface TraceEvent {
  name: string;
  /** Process and thread. */
  pid: number;
  tid: number;
  args: { name?: string };
  /** Microseconds of the thread's own time, so that what the machine does beside it counts as little as can be. */
  tdur?: number;
}

/**
 * The longest task in a trace of a page, in milliseconds of the thread's own time. Of the main threads, of which the browser has one
 * ready for a next page, the page's is the one that did most.
 */
export function longestTaskOf(trace: Buffer): number {
  const { traceEvents: events } = JSON.parse(String(trace)) as { traceEvents: TraceEvent[] };
  const mains = events.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
  const tasks = mains.map(({ pid, tid }) =>
    events
      .filter((one) => one.pid === pid && one.tid === tid && one.name.endsWith('RunTask'))
      .map(({ tdur = 0 }) => tdur),
  );
  const sum = (all: readonly number[]): number => all.reduce((one, other) => one + other, 0);
  const [busiest = []] = tasks.toSorted((one, other) => sum(other) - sum(one));
  return Math.max(...busiest) / 1_000;
}
