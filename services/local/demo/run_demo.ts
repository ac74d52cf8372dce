import type { ControlClient } from '#services/control_api/client.ts';
import { renderNumber } from '#services/stage/terminal.ts';
import type { ReadyFile } from '../start/screen.ts';
import {
  askFunnel,
  askStored,
  compare,
  countDiffering,
  createDeliveryReader,
  DESTINATIONS,
  drawSummary,
  dueIds,
  type Expected,
  type Findings,
  type Scope,
} from './compare.ts';
import { DemoError, type DemoOptions } from './config.ts';
import { type RequestOutcome, sendAll } from './send_requests.ts';
import { SITE_SLOTS, type SiteSlot } from './world/demo_event.ts';
import type { World } from './world/demo_world.ts';
import { runPrefix } from './world/people.ts';

export interface Surroundings {
  ready: Pick<ReadyFile, 'edge' | 'demo'>;
  client: ControlClient;
  output: ProgressOutput;
  coloured: boolean;
  now: () => number;
  wait: (ms: number) => Promise<void>;
  random: () => number;
}

/** An edge that gives no answer for this long is not being restarted any more. */
const GIVE_UP_AFTER_MS = 120_000;

async function send(world: World, around: Surroundings, concurrency: number): Promise<RequestOutcome[]> {
  const { ready, random, wait, now } = around;
  const total = world.ledger.totals.sent;
  const progress = startProgress('Sending', around.output, now);
  const startedAt = now();
  const outcomes: RequestOutcome[] = [];
  let done = 0;
  const onOutcome = (outcome: RequestOutcome): void => {
    outcomes.push(outcome);
    done += outcome.eventCount;
    const rate = Math.round((done * 1000) / Math.max(now() - startedAt, 1));
    progress.update(done, total, `${renderNumber(done)} of ${renderNumber(total)}, ${renderNumber(rate)}/s`);
  };
  const { edge, demo: sites } = ready;
  await sendAll(world.requests, {
    ...{ edge, sites, concurrency, giveUpAfterMs: GIVE_UP_AFTER_MS },
    ...{ random, wait, now, onOutcome },
  });
  progress.end();
  return outcomes;
}

/** Reads the run after it has been sent, as a user would ask for it. */
function createReader(world: World, { ledger, due }: Expected, { client, ready, now }: Surroundings) {
  const idPrefix = runPrefix(world.identity);
  const endsAt = now();
  const scopeOf = (slot: SiteSlot): Scope => ({ site: ready.demo[slot].site, idPrefix, endsAt });
  const { metaStandin, webhookStandin } = ready.demo;
  const delivered = {
    meta: createDeliveryReader(metaStandin, idPrefix),
    webhook: createDeliveryReader(webhookStandin, idPrefix),
  };
  const siteGoals = async (slot: SiteSlot): Promise<Goal[]> => {
    const { events, people } = await askStored(client, scopeOf(slot));
    const { unique, people: expected } = ledger.sites[slot];
    return [
      { label: `${slot} events`, expected: unique.size, found: events },
      { label: `${slot} people`, expected, found: people },
    ];
  };
  const deliveryGoals = DESTINATIONS.map((name) => async (): Promise<Goal[]> => {
    const expected = SITE_SLOTS.reduce((sum, slot) => sum + due[slot][name].size, 0);
    return [{ label: `${name} deliveries`, expected, found: await delivered[name].count() }];
  });
  const found = async (slot: SiteSlot) => ({
    ...(await askStored(client, scopeOf(slot))),
    funnel: await askFunnel(client, scopeOf(slot)),
  });
  return {
    goals: async (): Promise<Goal[]> =>
      (await Promise.all([...SITE_SLOTS.map(siteGoals), ...deliveryGoals.map((goals) => goals())])).flat(),
    findings: async (outcomes: readonly RequestOutcome[]): Promise<Findings> => ({
      outcomes,
      sites: { shop: await found('shop'), travel: await found('travel') },
      deliveries: { meta: await delivered.meta.list(), webhook: await delivered.webhook.list() },
    }),
  };
}

const progressOf = ({ found, expected }: Goal): string => `${renderNumber(found)} of ${renderNumber(expected)}`;

async function waitForAll(
  measure: () => Promise<Goal[]>,
  { output, wait, now }: Surroundings,
  timeoutMs: number,
): Promise<WaitResult> {
  const progress = startProgress('Waiting', output, now);
  const onProgress = (goals: readonly Goal[], readable: boolean): void => {
    const pending = goals.find((goal) => !isReached(goal));
    const note = pending === undefined ? 'all there, settling' : `${pending.label} ${progressOf(pending)}`;
    const done = goals.reduce((sum, { found, expected }) => sum + Math.min(found, expected), 0);
    const total = goals.reduce((sum, { expected }) => sum + expected, 0);
    if (goals.length > 0) progress.update(done, total, readable ? note : 'temporarily unavailable');
  };
  const result = await waitFor({ measure, wait, now, timeoutMs, onProgress });
  progress.end();
  return result;
}

/**
 * Sends the world through the edge, waits until the query API and the stand-ins show what they should, and prints the
 * summary.
 *
 * @returns how many counts differ
 */
export async function runDemo(
  world: World,
  around: Surroundings,
  { concurrency, timeoutMs }: Pick<DemoOptions, 'concurrency' | 'timeoutMs'>,
): Promise<number> {
  const { ledger } = world;
  const nowMs = around.now();
  const dueAt = (slot: SiteSlot) => {
    const events = [...ledger.sites[slot].unique.values()];
    return { meta: dueIds('meta', events, nowMs), webhook: dueIds('webhook', events, nowMs) };
  };
  const expected: Expected = { ledger, due: { shop: dueAt('shop'), travel: dueAt('travel') } };
  const outcomes = await send(world, around, concurrency);
  const reader = createReader(world, expected, around);
  const result = await waitForAll(reader.goals, around, timeoutMs);
  const findings = await reader.findings(outcomes);
  const sections = compare(expected, findings);
  const missing = result.kind === 'reached' ? [] : result.missing.map((goal) => `  ${goal.label}: ${progressOf(goal)}`);
  if (result.kind !== 'reached') missing.unshift(`No progress for ${timeoutMs / 1000} s. Still missing:`);
  around.output.write([...missing, '', drawSummary(findings, sections, around.coloured)].join('\n'));
  return countDiffering(sections);
}

export interface Goal {
  label: string;
  expected: number;
  found: number;
}

interface WaitOptions {
  /** Reads how far everything is. */
  measure: () => Promise<Goal[]>;
  wait: (ms: number) => Promise<void>;
  now: () => number;
  /** Waiting ends when nothing has moved for this long. */
  timeoutMs: number;
  /** `readable` is false while the last look failed; the goals are then those of the look before. */
  onProgress: (goals: readonly Goal[], readable: boolean) => void;
}

const POLL_MS = 1_000;
/** Everything must hold this long, so that a duplicate that comes after the first is seen. */
export const SETTLE_MS = 2_000;

export type WaitResult = { kind: 'reached' } | { kind: 'stood_still'; missing: Goal[] };

function isReached({ expected, found }: Goal): boolean {
  return expected === found;
}

/**
 * Waits until every goal is reached and nothing has moved for SETTLE_MS, or until nothing has moved for the timeout.
 * A look that fails is made again: the parts may be restarting.
 *
 * @throws DemoError (`unreadable`) when it still fails after the timeout, with what `measure` threw as cause.
 */
export async function waitFor(options: WaitOptions): Promise<WaitResult> {
  let goals: Goal[] = [];
  let seen = '';
  let movedAt = options.now();
  let fault: unknown = null;
  for (;;) {
    try {
      goals = await options.measure();
      fault = null;
    } catch (error) {
      fault = error;
    }
    const state = JSON.stringify(goals);
    if (state !== seen) movedAt = options.now();
    seen = state;
    options.onProgress(goals, fault === null);
    const stillMs = options.now() - movedAt;
    if (fault === null && goals.every(isReached) && stillMs >= SETTLE_MS) return { kind: 'reached' };
    if (stillMs >= options.timeoutMs && fault !== null) {
      const words = fault instanceof Error ? fault.message : 'unknown failure';
      throw new DemoError('unreadable', `cannot read results: ${words}`, { cause: fault });
    }
    if (stillMs >= options.timeoutMs) return { kind: 'stood_still', missing: goals.filter((goal) => !isReached(goal)) };
    await options.wait(POLL_MS);
  }
}

interface ProgressOutput {
  isTTY: boolean;
  write(text: string): void;
}

const BAR_WIDTH = 20;
const REDRAW_MS = 100;
const NOTE_WIDTH = 36;

/** `Sending    [██████              ]  30 %  ...` in at most 79 columns, so that no terminal of 80 wraps it. */
export function progressLine(title: string, share: number, note: string): string {
  const bar = '█'.repeat(Math.floor(share * BAR_WIDTH)).padEnd(BAR_WIDTH);
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `${title.padEnd(12)}[${bar}] ${percent} %  ${note.slice(0, NOTE_WIDTH)}`.trimEnd();
}

/** A bar that is redrawn in place on a terminal; elsewhere a plain line at the start, each tenth and the end. */
export function startProgress(title: string, output: ProgressOutput, now: () => number) {
  let drawnAt = Number.NEGATIVE_INFINITY;
  let tenth = -1;
  let line = '';
  return {
    /** @param note printed behind the bar, at most 36 columns of it */
    update(done: number, total: number, note: string): void {
      const share = total === 0 ? 1 : Math.min(done / total, 1);
      line = progressLine(title, share, note);
      if (output.isTTY) {
        if (now() - drawnAt < REDRAW_MS && share < 1) return;
        drawnAt = now();
        output.write(`\r\u001b[K${line}`);
      } else if (Math.floor(share * 10) !== tenth) {
        tenth = Math.floor(share * 10);
        output.write(`${line}\n`);
      }
    },
    end(): void {
      if (output.isTTY) output.write(`\r\u001b[K${line}\n`);
    },
  };
}
