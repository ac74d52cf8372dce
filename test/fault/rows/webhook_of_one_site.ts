import { setTimeout as sleep } from 'node:timers/promises';
import { topicsOf } from '#pipelines/delivery/retry_topics.ts';
import { until } from '#test/harness/until.ts';
import { type Sent, sendEvents } from '../load/steady.ts';
import { arrivalsOf, quantile } from '../oracle/arrivals.ts';
import { endsOf } from '../oracle/topics.ts';
import type { Row, RowContext } from '../row.ts';
import { type Observed, withPlatforms } from '../world/observed.ts';
import { makeSites, type PlatformSite } from '../world/platform_sites.ts';

const SITES = 6;
const CALM_EVENTS = 300;
const PER_SECOND = 30;
const SLOW_EVENTS = 1_200;
const FIRST_EVENTS = 20;
/** Longer than that no call may take; its answers are good. */
const SLOW_MS = 8_000;
const PAUSED_EVENTS = 10_000;
const PAUSED_PER_SECOND = 200;
/** Delays shorter than this are not told from each other: the flow's own steps and a busy machine are as long. */
const DELAY_MS_MIN = 1_000;
const HEALED_MS = 600_000;
/** Writes to lanes that an event has in its first ten minutes: one, and that of its way from one process to another. */
const WRITES_AT_FIRST = 2;
const LOOK_MINUTES = 10;

/**
 * One site's webhook answers 200, but after eight seconds, while the others' answer at once: these are not delayed, once its first
 * answers have shown how slow it is.
 */
export const SLOW_WEBHOOK: Row = {
  name: 'webhook.slow',
  loadEvents: 200,
  requestsPerSecond: 5,
  fault: (context) => withPlatforms(context.world, (observed) => playSlow(observed, context)),
};

/**
 * One site's webhook answers 500 while ten thousand of its events wait (`--minutes` long): they are hardly written, nobody
 * else is delayed, and they are there once, soon after it is well.
 */
export const PAUSED_BACKLOG: Row = {
  name: 'webhook.paused_backlog',
  loadEvents: 200,
  requestsPerSecond: 5,
  fault: (context) => withPlatforms(context.world, (observed) => playPaused(observed, context)),
};

async function playSlow(observed: Observed, { say }: RowContext): Promise<void> {
  const sites = await makeSites(observed, SITES);
  const slow = sites[0] as PlatformSite;
  const calm = await sendCalm(observed, sites);
  observed.platforms.webhook.script.set([{ fault: { kind: 'none' }, scope: slow.scopes.webhook, delay_ms: SLOW_MS }]);
  const first = await sendEvents(observed.edge, [slow], 'first', { count: FIRST_EVENTS, perSecond: PER_SECOND });
  await arrived(observed, first);
  const load = { count: SLOW_EVENTS, perSecond: PER_SECOND };
  const during = await sendEvents(observed.edge, sites, 'slow', load);
  const others = during.filter(({ site }) => site !== slow);
  await arrived(observed, others);
  holdOthers(observed, calm, others, say);
  observed.platforms.webhook.script.set([]);
  await arrived(observed, during);
  holdOnce(observed, [...first, ...during]);
}

async function playPaused(observed: Observed, { world, minutes, say }: RowContext): Promise<void> {
  const sites = await makeSites(observed, SITES);
  const away = sites[0] as PlatformSite;
  const calm = await sendCalm(observed, sites);
  const before = await writtenToLanes(world.addresses.kafkaBrokers);
  observed.platforms.webhook.script.set([{ fault: { kind: 'status', status: 500 }, scope: away.scopes.webhook }]);
  const beganMs = performance.now();
  const waiting = await sendEvents(observed.edge, [away], 'wait', {
    count: PAUSED_EVENTS,
    perSecond: PAUSED_PER_SECOND,
  });
  const beside = sites.filter((site) => site !== away);
  // By then what came before has gone its way.
  await arrived(
    observed,
    await sendEvents(observed.edge, beside, 'behind', { count: CALM_EVENTS, perSecond: PER_SECOND }),
  );
  const others = await sendEvents(observed.edge, beside, 'beside', { count: SLOW_EVENTS, perSecond: PER_SECOND });
  await arrived(observed, others);
  holdOthers(observed, calm, others, say);
  await sleep(Math.max(0, minutes * 60_000 - (performance.now() - beganMs)));
  const written = (await writtenToLanes(world.addresses.kafkaBrokers)) - before;
  const limit = waiting.length * (WRITES_AT_FIRST + minutes / LOOK_MINUTES);
  say(`${written} records were written to lanes for ${waiting.length} events in ${minutes} minutes`);
  if (written > limit) throw new Error(`lanes were written ${written} times, above ${limit}`);
  observed.platforms.webhook.script.set([]);
  const healedMs = performance.now();
  await arrived(observed, waiting);
  say(`all of them arrived ${Math.round((performance.now() - healedMs) / 1_000)} s after the webhook was well`);
  holdOnce(observed, waiting);
}

/** Processes that just started are slow, and what they are behind would count as undisturbed delay. */
async function sendCalm(observed: Observed, sites: readonly PlatformSite[]): Promise<Sent[]> {
  const load = { count: CALM_EVENTS, perSecond: PER_SECOND };
  await arrived(observed, await sendEvents(observed.edge, sites, 'warm', load));
  const calm = await sendEvents(observed.edge, sites, 'calm', load);
  await arrived(observed, calm);
  return calm;
}

async function arrived({ platforms }: Observed, sent: readonly Sent[]): Promise<void> {
  const missing = (): number => arrivalsOf(platforms, 'webhook', sent).missing;
  await until('everything at the webhooks', missing, (seen) => seen === 0, { timeoutMs: HEALED_MS, everyMs: 500 });
}

function holdOthers(
  { platforms }: Observed,
  calm: readonly Sent[],
  others: readonly Sent[],
  say: (line: string) => void,
): void {
  const [before, within] = [calm, others].map((sent) => arrivalsOf(platforms, 'webhook', sent).delaysMs);
  const [calmMs, besideMs] = [quantile(before ?? [], 0.99), quantile(within ?? [], 0.99)];
  const limitMs = 2 * Math.max(calmMs, DELAY_MS_MIN);
  say(`p99 of the others: ${calmMs} ms before, ${besideMs} ms beside`);
  if (besideMs > limitMs) throw new Error(`the others' p99 is ${besideMs} ms, above ${limitMs} ms`);
}

function holdOnce({ platforms }: Observed, sent: readonly Sent[]): void {
  const { missing, doubled } = arrivalsOf(platforms, 'webhook', sent);
  if (missing + doubled > 0) throw new Error(`${missing} missing, ${doubled} counted twice`);
}

async function writtenToLanes(brokers: string): Promise<number> {
  const ends = await endsOf(brokers, topicsOf('webhook'));
  return [...ends.values()].flat().reduce((sum, end) => sum + end, 0);
}
