import { setTimeout as sleep } from 'node:timers/promises';
import type { ReplayItem } from '#services/control_api/redelivery.ts';
import { renderTable } from '#services/stage/terminal.ts';
import { until } from '#test/harness/until.ts';
import { type Sent, sendEvents } from '../load/steady.ts';
import { arrivalsOf, missingAt } from '../oracle/arrivals.ts';
import type { Row } from '../row.ts';
import { type Observed, withPlatforms } from '../world/observed.ts';
import { makeSites, type PlatformSite } from '../world/platform_sites.ts';
import { DESTINATIONS, type Destination } from '../world/platforms.ts';

const EVENTS_PER_SECOND = 250;
const MANY_EVENTS = 10_000;
const ARRIVED_MS = 120_000;
/** A delivery process learns of a change within milliseconds; this is longer than any that was seen. */
const KNOWN_MS = 1_500;

/**
 * Every fourth site misses half of its events at every destination. Each destination is pointed back to the beginning by
 * the replay command: it gets what it had not, and nothing else. A second replay brings nothing.
 */
export const REPLAY_MISSED: Row = {
  name: 'replay.missed',
  loadEvents: 200,
  requestsPerSecond: 5,
  fault: ({ world, events, say }) => withPlatforms(world, (observed) => replayMissed(observed, events, say)),
};

async function replayMissed(observed: Observed, events: number, say: (line: string) => void): Promise<void> {
  const { edge, platforms } = observed;
  const from = new Date().toISOString();
  const sites = await makeSites(observed, events < MANY_EVENTS ? 4 : 20);
  const missing = sites.filter((_, index) => index % 4 === 0);
  const half = { count: Math.ceil(events / 2), perSecond: EVENTS_PER_SECOND };
  const arrived = async (sent: readonly Sent[]): Promise<void> => {
    const left = () => missingAt(platforms, DESTINATIONS, sent);
    await until('everything has arrived', left, (seen) => seen === 0, { timeoutMs: ARRIVED_MS, everyMs: 250 });
  };

  const had = await sendEvents(edge, sites, 'had', half);
  await arrived(had);
  await switchSites(observed, missing, 'disable');
  const then = await sendEvents(edge, sites, 'then', half);
  await arrived(then.filter(({ site }) => !missing.includes(site)));
  await sleep(KNOWN_MS);
  await switchSites(observed, missing, 'enable');

  const missed = then.filter(({ site }) => missing.includes(site)).length;
  say(`${had.length + then.length} events sent, ${missed} of them missed by ${missing.length} sites`);
  const replayed: Replayed[] = [];
  for (const name of DESTINATIONS) replayed.push(await replayOne(observed, name, from, [...had, ...then]));
  const headings = ['DESTINATION', 'HAD', 'REPLAYED', 'TOOK S', 'AGAIN', 'MISSING', 'SENT TWICE'];
  say(
    renderTable(
      headings,
      replayed.map((one) => Object.values(one).map(String)),
      '',
    ),
  );
  const expected = { had: had.length + then.length - missed, chosen: missed, again: 0, missing: 0, repeated: 0 };
  const wrong = replayed.filter((one) =>
    Object.entries(expected).some(([name, count]) => one[name as 'had'] !== count),
  );
  if (wrong.length > 0) throw new Error(`instead of ${JSON.stringify(expected)}: ${JSON.stringify(wrong)}`);
}

interface Replayed {
  name: Destination;
  had: number;
  chosen: number;
  tookS: string;
  /** What a second replay of the same range chose. */
  again: number;
  missing: number;
  /** Accepted by the platform a second time. */
  repeated: number;
}

async function replayOne(
  { platforms, settings }: Observed,
  name: Destination,
  from: string,
  all: readonly Sent[],
): Promise<Replayed> {
  const replay = () =>
    settings.run<ReplayItem>('replay', '--destination', name, '--from', from, '--to', 'now', '--rate', '2000');
  const had = all.length - arrivalsOf(platforms, name, all).missing;
  const beganMs = performance.now();
  const { chosen } = await replay();
  const tookS = ((performance.now() - beganMs) / 1_000).toFixed(1);
  const again = (await replay()).chosen;
  const repeated = Object.values(platforms[name].ledger.totals()).reduce((sum, one) => sum + one.repeated, 0);
  return { name, had, chosen, tookS, again, missing: arrivalsOf(platforms, name, all).missing, repeated };
}

async function switchSites(
  { settings }: Observed,
  sites: readonly PlatformSite[],
  verb: 'enable' | 'disable',
): Promise<void> {
  for (const { site } of sites) {
    for (const name of DESTINATIONS) await settings.run('destination', verb, name, '--site', site);
  }
  await sleep(KNOWN_MS);
}
