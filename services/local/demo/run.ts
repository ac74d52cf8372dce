import { number, type Style } from '#services/terminal_style.ts';
import type { RequestOutcome } from './answer.ts';
import { compare, countDiffering, type Expected, type Findings, type SiteFindings } from './compare.ts';
import { createDeliveryReader, type DeliveryReader } from './deliveries.ts';
import { DESTINATIONS, type DestinationName, eligibleIds } from './eligible.ts';
import type { Ready } from './ready.ts';
import { type ProgressOutput, sentNote, startProgress } from './report/progress.ts';
import { drawSummary } from './report/summary.ts';
import { sendAll } from './send.ts';
import { type Goal, type WaitResult, waitFor } from './wait.ts';
import { askClickHouse, countFunnel, countSite, listEvents, type Scope } from './warehouse.ts';
import { SITE_SLOTS, type SiteSlot } from './world/event.ts';
import { runPrefix } from './world/ids.ts';
import type { World } from './world/world.ts';

export interface Surroundings {
  ready: Ready;
  output: ProgressOutput;
  style: Style;
  now: () => number;
  wait: (ms: number) => Promise<void>;
  random: () => number;
}

export interface RunLimits {
  concurrency: number;
  timeoutMs: number;
}

/** An edge that gives no answer for this long is not being restarted any more. */
const GIVE_UP_AFTER_MS = 120_000;

async function send(world: World, around: Surroundings, concurrency: number): Promise<RequestOutcome[]> {
  const { ready, now } = around;
  const total = world.ledger.totals.sent;
  const progress = startProgress('Sending', around.output, now);
  const startedAt = now();
  const outcomes: RequestOutcome[] = [];
  let done = 0;
  await sendAll(world.requests, {
    edge: ready.edge,
    sites: ready.demo,
    concurrency,
    giveUpAfterMs: GIVE_UP_AFTER_MS,
    random: around.random,
    wait: around.wait,
    now,
    onOutcome: (outcome) => {
      outcomes.push(outcome);
      done += outcome.eventCount;
      progress.update(done, total, sentNote(done, total, now() - startedAt));
    },
  });
  progress.end();
  return outcomes;
}

function expectationOf(world: World, nowMs: number): Expected {
  const { sites } = world.ledger;
  const idsOf = (slot: SiteSlot) => eligibleIds(slot, sites[slot].unique.values(), nowMs);
  return { ledger: world.ledger, eligible: { shop: idsOf('shop'), travel: idsOf('travel') } };
}

function standinOf(ready: Ready, name: DestinationName): string {
  return name === 'meta' ? ready.demo.metaStandin : ready.demo.webhookStandin;
}

/** Everything that is read about the run after it has been sent. */
interface Reader {
  goals: () => Promise<Goal[]>;
  findings: (outcomes: readonly RequestOutcome[]) => Promise<Findings>;
}

function createReader(world: World, expected: Expected, ready: Ready): Reader {
  const idPrefix = runPrefix(world.identity);
  const ask = askClickHouse(ready.clickhouse);
  const scopeOf = (slot: SiteSlot): Scope => ({ siteId: ready.demo[slot].site, idPrefix });
  const readerOf = (name: DestinationName): DeliveryReader => createDeliveryReader(standinOf(ready, name), idPrefix);
  const delivered = { meta: readerOf('meta'), webhook: readerOf('webhook') };
  const siteGoals = async (slot: SiteSlot): Promise<Goal[]> => {
    const { rows, people } = await countSite(ask, scopeOf(slot));
    const ledger = expected.ledger.sites[slot];
    return [
      { label: `${slot} rows`, expected: ledger.unique.size, found: rows },
      { label: `${slot} people`, expected: ledger.people, found: people },
    ];
  };
  const deliveryGoal = async (name: DestinationName): Promise<Goal> => {
    const due = SITE_SLOTS.reduce((sum, slot) => sum + expected.eligible[slot][name].size, 0);
    return { label: `${name} deliveries`, expected: due, found: await delivered[name].count() };
  };
  const siteFindings = async (slot: SiteSlot): Promise<SiteFindings> => ({
    stored: await listEvents(ask, scopeOf(slot)),
    people: (await countSite(ask, scopeOf(slot))).people,
    funnel: await countFunnel(ask, scopeOf(slot)),
  });
  return {
    goals: async () => [
      ...(await Promise.all(SITE_SLOTS.map(siteGoals))).flat(),
      ...(await Promise.all(DESTINATIONS.map(deliveryGoal))),
    ],
    findings: async (outcomes) => ({
      outcomes,
      sites: { shop: await siteFindings('shop'), travel: await siteFindings('travel') },
      deliveries: { meta: await delivered.meta.list(), webhook: await delivered.webhook.list() },
    }),
  };
}

function pendingNote(goals: readonly Goal[], readable: boolean): string {
  if (!readable) return 'cannot be read just now';
  const pending = goals.find(({ expected, found }) => found !== expected);
  return pending === undefined
    ? 'all there, settling'
    : `${pending.label} ${number(pending.found)}/${number(pending.expected)}`;
}

async function waitForAll(reader: Reader, around: Surroundings, timeoutMs: number): Promise<WaitResult> {
  const progress = startProgress('Waiting', around.output, around.now);
  const result = await waitFor({
    measure: reader.goals,
    wait: around.wait,
    now: around.now,
    timeoutMs,
    onProgress: (goals, readable) => {
      const total = goals.reduce((sum, goal) => sum + goal.expected, 0);
      const done = goals.reduce((sum, goal) => sum + Math.min(goal.found, goal.expected), 0);
      if (total > 0) progress.update(done, total, pendingNote(goals, readable));
    },
  });
  progress.end();
  return result;
}

function missingLines(result: WaitResult, timeoutMs: number): string[] {
  if (result.kind === 'reached') return [];
  const goals = result.missing.map(
    ({ label, expected, found }) => `  ${label}: ${number(found)} of ${number(expected)}`,
  );
  return [`Nothing has moved for ${timeoutMs / 1000} s; still not as expected:`, ...goals];
}

/**
 * Sends the world through the edge, waits until ClickHouse and the stand-ins hold what they should, and prints the
 * summary.
 *
 * @returns how many counts differ
 */
export async function runDemo(world: World, around: Surroundings, limits: RunLimits): Promise<number> {
  const expected = expectationOf(world, around.now());
  const outcomes = await send(world, around, limits.concurrency);
  const reader = createReader(world, expected, around.ready);
  const result = await waitForAll(reader, around, limits.timeoutMs);
  const findings = await reader.findings(outcomes);
  const sections = compare(expected, findings);
  const lines = [
    ...missingLines(result, limits.timeoutMs),
    '',
    ...drawSummary(expected, findings, sections, around.style),
  ];
  around.output.write(lines.join('\n'));
  return countDiffering(sections);
}
