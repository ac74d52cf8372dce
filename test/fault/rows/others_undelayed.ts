import { setTimeout as sleep } from 'node:timers/promises';
import type { HealthItem } from '#services/control_api/destinations.ts';
import { renderTable } from '#services/stage/terminal.ts';
import { until } from '#test/harness/until.ts';
import { type Sent, sendEvents } from '../load/steady.ts';
import { arrivalsOf, missingAt, quantile } from '../oracle/arrivals.ts';
import type { Row, RowContext } from '../row.ts';
import { type Observed, withPlatforms } from '../world/observed.ts';
import { makeSites, OLD_TOKEN, type PlatformSite } from '../world/platform_sites.ts';
import { DESTINATIONS, type Destination } from '../world/platforms.ts';

const FAILING: Destination = 'tiktok';
const REVOKED: Destination = 'meta';
const INVALID_TOKEN = { kind: 'status', status: 401, body: '{"error":{"code":190,"type":"OAuthException"}}' } as const;
/** How long it stays broken for each event, from and to; events flow undisturbed for half as long before. */
const OUTAGE_MS_PER_EVENT = 2.4;
const OUTAGE_MS_MIN = 12_000;
const OUTAGE_MS_MAX = 120_000;
const MANY_EVENTS = 20_000;
/** Delays shorter than this are not told from each other: the flow's own steps and a busy machine are as long. */
const DELAY_MS_MIN = 1_000;
/** Longest until everything has arrived after the healing. */
const HEALED_MS = 300_000;
const SHOWN_MS_MAX = 30_000;
const RESUMED_MS_MAX = 30_000;

/**
 * One destination answers 500, then nothing, then 429, a third of the time each, while one site's token is revoked at
 * another. Nobody else is delayed, and after the healing everything is there once.
 */
const OUTAGE = {
  loadEvents: 200,
  requestsPerSecond: 5,
  fault: (context) => withPlatforms(context.world, (observed) => playOutage(observed, context)),
} satisfies Omit<Row, 'name'>;

/** The sites have set the platforms' addresses themselves: an outage is each site's own, and its events go by the lanes. */
export const OTHERS_UNDELAYED: Row = { ...OUTAGE, name: 'outage.of_sites', smoke: true };

/** The address is the platform's own: the whole destination is away, and its events wait in the main topic. */
export const OTHERS_UNDELAYED_BY_PLATFORM: Row = { ...OUTAGE, name: 'outage.of_platform', place: 'own_platforms' };

async function playOutage(observed: Observed, { events, say }: RowContext): Promise<void> {
  const { edge, platforms } = observed;
  const outageMs = Math.min(Math.max(events * OUTAGE_MS_PER_EVENT, OUTAGE_MS_MIN), OUTAGE_MS_MAX);
  const calmMs = outageMs / 2;
  const perSecond = (events * 1_000) / (calmMs + outageMs);
  const sites = await makeSites(observed, events < MANY_EVENTS ? 6 : 20);
  const revoked = sites[0] as PlatformSite;
  const send = (prefix: string, ms: number): Promise<Sent[]> =>
    sendEvents(edge, sites, prefix, { count: Math.round((perSecond * ms) / 1_000), perSecond });

  say(`${events} events over ${sites.length} sites, ${Math.round(perSecond)} a second`);
  // Processes that just started are slow, and what they are behind would count as undisturbed delay.
  await arrived(observed, DESTINATIONS, await send('warm', calmMs / 2));
  const calm = await send('calm', calmMs);
  await arrived(observed, DESTINATIONS, calm);
  say(`${FAILING} fails, and a token of ${REVOKED} is revoked`);
  platforms[REVOKED].script.set([{ fault: INVALID_TOKEN, scope: revoked.scopes[REVOKED], token: OLD_TOKEN }]);
  const failing = failInTurns(observed, outageMs, say);
  const during = await send('during', outageMs);
  await failing;

  const healedMs = performance.now();
  const all = [...calm, ...during];
  const others = all.filter(({ site }) => site !== revoked);
  await arrived(
    observed,
    DESTINATIONS.filter((name) => name !== REVOKED),
    all,
  );
  await arrived(observed, [REVOKED], others);
  say(`all of the others arrived ${seconds(healedMs)} after ${FAILING} was well`);
  await untilShown(observed, revoked);
  const resumedMs = await resume(
    observed,
    revoked,
    all.filter(({ site }) => site === revoked),
  );
  hold(observed, { calm, during, revoked, resumedMs }, say);
}

const seconds = (sinceMs: number): string => `${((performance.now() - sinceMs) / 1_000).toFixed(1)} s`;

async function arrived({ platforms }: Observed, names: readonly Destination[], sent: readonly Sent[]): Promise<void> {
  const missing = () => missingAt(platforms, names, sent);
  await until(`everything at ${names.join()}`, missing, (seen) => seen === 0, { timeoutMs: HEALED_MS, everyMs: 250 });
}

/** A third of the time each: errors, silence, throttling. */
async function failInTurns({ platforms }: Observed, outageMs: number, say: (line: string) => void): Promise<void> {
  const { script } = platforms[FAILING];
  const turns = [{ kind: 'status', status: 500 }, { kind: 'hang' }, { kind: 'throttle', retry_after_s: 2 }] as const;
  for (const fault of turns) {
    say(`  ${FAILING}: ${fault.kind}`);
    script.set([{ fault }]);
    await sleep(outageMs / turns.length);
  }
  script.set([]);
}

/** The revoked token shows where an operator looks. */
async function untilShown({ settings }: Observed, { site }: PlatformSite): Promise<void> {
  const states = async () => {
    const words = ['--site', site, '--destination', REVOKED];
    const items = await settings.run<HealthItem[]>('destination', 'health', ...words);
    return items.map(({ state }) => state);
  };
  const isShown = (seen: string[]): boolean => seen.includes('waits_for_settings');
  await until('the revoked token shows', states, isShown, { timeoutMs: SHOWN_MS_MAX, everyMs: 500 });
}

/** Gives the site a new secret; answers how long its events then took to arrive. */
async function resume(observed: Observed, { site }: PlatformSite, waiting: readonly Sent[]): Promise<number> {
  const beganMs = performance.now();
  await observed.settings.run('destination', 'set', REVOKED, '--site', site, '--secret', 'access_token=new-token');
  await arrived(observed, [REVOKED], waiting);
  return performance.now() - beganMs;
}

interface Played {
  calm: readonly Sent[];
  during: readonly Sent[];
  revoked: PlatformSite;
  resumedMs: number;
}

function hold(
  { platforms }: Observed,
  { calm, during, revoked, resumedMs }: Played,
  say: (line: string) => void,
): void {
  const problems: string[] = [];
  const rows = DESTINATIONS.map((name) => {
    const isOpen = ({ site }: Sent): boolean => name !== REVOKED || site !== revoked;
    const before = arrivalsOf(platforms, name, calm.filter(isOpen)).delaysMs;
    const within = arrivalsOf(platforms, name, during.filter(isOpen)).delaysMs;
    const { missing, doubled } = arrivalsOf(platforms, name, [...calm, ...during]);
    const [calmP99, outageP99] = [quantile(before, 0.99), quantile(within, 0.99)];
    const limitMs = 2 * Math.max(calmP99, DELAY_MS_MIN);
    if (missing + doubled > 0) problems.push(`${name}: ${missing} missing, ${doubled} counted twice`);
    if (name !== FAILING && outageP99 > limitMs) problems.push(`${name}: p99 ${outageP99} ms, above ${limitMs} ms`);
    return [name, quantile(before, 0.5), calmP99, quantile(within, 0.5), outageP99, missing, doubled].map(String);
  });
  if (resumedMs > RESUMED_MS_MAX) problems.push(`the revoked site took ${Math.round(resumedMs)} ms`);
  const headings = ['DESTINATION', 'CALM P50 MS', 'P99', 'OUTAGE P50 MS', 'P99', 'MISSING', 'TWICE'];
  say(renderTable(headings, rows, ''));
  say(
    `the revoked site had everything ${(resumedMs / 1_000).toFixed(1)} s after its new secret; its delays are left out`,
  );
  if (problems.length > 0) throw new Error(problems.join('\n'));
}
