import { randomFor } from '#services/local/demo/world/random.ts';
import { until } from '#test/harness/until.ts';
import { runLoad } from './load/load.ts';
import { createLedger } from './load/load_ledger.ts';
import { createTraffic } from './load/traffic.ts';
import { judge, type Verdict } from './oracle/judge.ts';
import { READ_TOPICS } from './oracle/on_topics.ts';
import { setMerging } from './oracle/stored.ts';
import { endsOf } from './oracle/topics.ts';
import type { Row, RowContext } from './row.ts';
import type { World } from './world/fault_world.ts';
import { secondsOf } from './world/groups.ts';
import { heal } from './world/heal.ts';
import { makeFaultSite } from './world/site.ts';

/** A row's verdict with what was sent. */
export interface RowResult extends Verdict {
  name: string;
  sent: number;
  accepted: number;
  unknown: number;
  tookMs: number;
}

export interface RowOptions {
  seed: number;
  /** New events at the least, where the row does not say. */
  events: number;
  minutes: number;
  say(line: string): void;
  /** Called for a row that failed, with the folder of its world's logs, which goes when the run ends. */
  onFailed?(row: string, logs: string): void;
}

const REQUESTS_PER_SECOND = 50;
const SENT_MS = 120_000;

/** Runs one row in a world: load and fault side by side, then the account. What is thrown becomes a problem. */
export async function runRow(world: World, row: Row, options: RowOptions): Promise<RowResult> {
  const startedMs = performance.now();
  const ledger = createLedger();
  let verdict: Verdict;
  try {
    verdict = await rested(world, row, () => run(world, row, options, ledger));
  } catch (error) {
    const problems = [textOf(error)];
    await heal(world, options.say).catch((failure: unknown) => problems.push(`not healed: ${textOf(failure)}`));
    verdict = { lost: 0, doubled: 0, recoverMs: 0, problems };
  }
  return {
    name: row.name,
    sent: ledger.size(),
    accepted: ledger.ids('accepted').size,
    unknown: ledger.ids('unknown').size,
    tookMs: performance.now() - startedMs,
    ...verdict,
  };
}

/** With what caused it: that a fetch failed says nothing by itself. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.stack ?? error.message;
  return error.cause === undefined ? text : `${text}\ncaused by ${textOf(error.cause)}`;
}

/** Has the processes that stand beside the first of a stage rest meanwhile, where the row needs that. */
async function rested<T>(world: World, { oneProcess }: Row, work: () => Promise<T>): Promise<T> {
  const resting = oneProcess === true ? secondsOf(world) : [];
  await Promise.all(resting.map((name) => world.fleet.stop(name)));
  const launch = (): void => {
    for (const name of resting) world.fleet.launch(name);
  };
  // Where it fails, what it left has to be healed before anything can be ready.
  const done = await work().catch((error: unknown) => {
    launch();
    throw error;
  });
  launch();
  await world.fleet.allReady();
  return done;
}

async function run(
  world: World,
  row: Row,
  options: RowOptions,
  ledger: ReturnType<typeof createLedger>,
): Promise<Verdict> {
  const site = await makeFaultSite(world, row.name);
  await setMerging(world, 'STOP');
  const random = (what: string) => randomFor(`${options.seed}/${row.name}/${what}`);
  const events = row.events ?? options.events;
  const context: RowContext = {
    world,
    site,
    ledger,
    random: random('fault'),
    events,
    minutes: options.minutes,
    planted: [],
    broken: new Set(),
    async untilSent(count) {
      await until(
        `${count} events sent`,
        () => ledger.size(),
        (size) => size >= count,
        { timeoutMs: SENT_MS },
      );
    },
    say: options.say,
  };
  await row.before?.(context);
  const starts = await endsOf(world.addresses.kafkaBrokers, READ_TOPICS);
  await runLoad(
    {
      edges: world.edges,
      key: site.serverKey,
      traffic: createTraffic(site.site, random('traffic'), Date.now),
      ledger,
      random: random('load'),
      eventsMin: row.loadEvents ?? events,
      requestsPerSecond: row.requestsPerSecond ?? REQUESTS_PER_SECOND,
    },
    row.fault(context),
  );
  const healedMs = performance.now();
  await world.fleet.allReady();
  const verdict = await judge(row, context, starts, healedMs);
  await row.after?.(context);
  await setMerging(world, 'START');
  return verdict;
}
