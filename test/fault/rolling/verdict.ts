// What a rolling drill has seen, in lines, and whether the service held: pure.

/** How many events were found so late, in steps of `STEP_MS`. */
export type Histogram = ReadonlyMap<number, number>;
export const STEP_MS = 10;

export interface RollingFacts {
  /** Events a second that were to be sent, and for how long they were. */
  rate: number;
  seconds: number;
  /** Answers to clients: a status with the error's code, or `connection` where one broke with a request on it. */
  answers: ReadonlyMap<string, number>;
  /** Requests that found an edge's port closed, and went to the other, as a load balancer does it. */
  moved: number;
  /** Events accepted; given up by their client; accepted and not found; found more often than once. */
  events: { accepted: number; givenUp: number; lost: number; doubled: number };
  /** Of all events that are found: from their arrival at the edge until a query finds them. */
  lateness: Histogram;
  /** Of all requests: from when one was due until it was accepted, retries included; milliseconds, sorted. */
  requestMs: readonly number[];
  /** Processes that were ended and started; for how long each was away; servers of Kafka. */
  restarts: readonly { name: string; tookMs: number }[];
  /** Processes that ended unasked. */
  deaths: number;
  /** CPU seconds by what used them, starts included, and processors that there are. */
  cpu: ReadonlyMap<string, number>;
  processors: number;
}

const P99_MS_MAX = 10_000;
/** A sender that cannot keep the rate up shows nothing of it. */
const RATE_SHARE_MIN = 0.97;

/** The least number of milliseconds within which a share of all events was found; not a number where there is none. */
export function atShare(histogram: Histogram, share: number): number {
  const steps = [...histogram].toSorted(([one], [other]) => one - other);
  const all = steps.reduce((sum, [, count]) => sum + count, 0);
  let passed = 0;
  for (const [step, count] of steps) {
    passed += count;
    if (passed >= all * share) return (step + 1) * STEP_MS;
  }
  return Number.NaN;
}

/** What did not hold, a line for each. */
export function problemsOf(facts: RollingFacts): string[] {
  const { rate, seconds, answers, events, deaths } = facts;
  const refused = [...answers].filter(([answer]) => answer !== '200' && answer !== 'connection');
  const p99 = atShare(facts.lateness, 0.99);
  const reached = events.accepted / seconds;
  return [
    ...refused.map(([answer, count]) => `${count} requests were answered ${answer}`),
    ...(events.givenUp > 0 ? [`${events.givenUp} events were given up`] : []),
    ...(events.lost > 0 ? [`${events.lost} accepted events were lost`] : []),
    ...(events.doubled > 0 ? [`${events.doubled} events were stored more than once`] : []),
    ...(p99 < P99_MS_MAX ? [] : [`p99 to queryable is ${p99} ms`]),
    ...(reached < rate * RATE_SHARE_MIN ? [`${Math.round(reached)} events/s were accepted, not ${rate}`] : []),
    ...(deaths > 0 ? [`${deaths} processes ended unasked`] : []),
  ];
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-US');

/** The report, line by line. */
export function linesOf(facts: RollingFacts): string[] {
  const { answers, events, lateness, requestMs, restarts, cpu, processors, seconds, moved } = facts;
  const times = [0.5, 0.99, 1].map((share) => `${whole(atShare(lateness, share))} ms`);
  const answered = [0.5, 0.99, 1].map((share) => {
    const at = Math.min(requestMs.length - 1, Math.floor(requestMs.length * share));
    return `${whole(requestMs[at] ?? Number.NaN)} ms`;
  });
  const took = restarts.map(({ tookMs }) => tookMs);
  const used = [...cpu].toSorted(([, one], [, other]) => other - one);
  const all = used.reduce((sum, [, cpuSeconds]) => sum + cpuSeconds, 0);
  const problems = problemsOf(facts);
  return [
    `requests: ${[...answers].map(([answer, count]) => `${answer}: ${whole(count)}`).join(', ')}; moved to the other edge: ${whole(moved)}`,
    `events: ${whole(events.accepted)} accepted (${whole(events.accepted / seconds)}/s), given up ${events.givenUp}, lost ${events.lost}, doubled ${events.doubled}`,
    `accepted after (p50, p99, most): ${answered.join(', ')}`,
    `queryable after (p50, p99, most): ${times.join(', ')}`,
    `restarts: ${restarts.length}, of ${whole(took.reduce((sum, ms) => sum + ms, 0) / took.length)} ms on average, ${whole(Math.max(0, ...took))} at most`,
    `CPU: ${((100 * all) / seconds / processors).toFixed(0)} % of ${processors} processors; ${used
      .map(([name, cpuSeconds]) => `${name} ${(cpuSeconds / seconds).toFixed(2)}`)
      .join(', ')}`,
    ...problems.map((problem) => `PROBLEM: ${problem}`),
    problems.length === 0 ? 'held' : 'DID NOT HOLD',
  ];
}
