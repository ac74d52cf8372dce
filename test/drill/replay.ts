import { setTimeout as sleep } from 'node:timers/promises';
import type { ReplayItem } from '#services/control_api/replay_shapes.ts';
import { openSettings, type SettingsEditor } from '#test/harness/settings.ts';
import { until } from '#test/harness/until.ts';
import { arrivalsOf } from './arrivals.ts';
import { DRILLED, type Drilled, type Place } from './place.ts';
import { type DrillSite, makeSites } from './sites.ts';
import type { Report } from './table.ts';
import { type Sent, sendEvents } from './traffic.ts';

export interface ReplaySize {
  events: number;
  sites: number;
  perSecond: number;
  /** From when on to replay: an hour back, or later where others have used the service before. */
  from: string;
}

export const FULL_REPLAY: ReplaySize = { events: 10_000, sites: 20, perSecond: 250, from: '1h' };

const ARRIVED_MS = 120_000;
/** A delivery process learns of a change within milliseconds; this is longer than any that was seen. */
const KNOWN_MS = 1_500;

/**
 * Every fourth site misses half of its events at every destination. Each destination is pointed back one hour by the
 * replay command: it gets what it had not, and nothing else. A second replay brings nothing.
 */
export async function drillReplay(place: Place, size: ReplaySize, say: (line: string) => void): Promise<Report> {
  const settings = await openSettings(place.service);
  const sites = await makeSites(place, settings, size.sites);
  const missing = new Set(sites.filter((_, index) => index % 4 === 0));
  const half = { count: size.events / 2, perSecond: size.perSecond };
  const had = await sendEvents(place.edge, sites, 'had', half);
  await arrived(place, had);
  await switchSites(settings, missing, 'disable');
  const then = await sendEvents(place.edge, sites, 'then', half);
  const missed = then.filter(({ site }) => missing.has(site));
  await arrived(
    place,
    then.filter(({ site }) => !missing.has(site)),
  );
  await sleep(KNOWN_MS);
  await switchSites(settings, missing, 'enable');
  say(`${size.events} events sent, ${missed.length} of them missed by ${missing.size} sites`);
  const all = [...had, ...then];
  const problems: string[] = [];
  const rows: string[][] = [];
  for (const name of DRILLED)
    rows.push(await replayOne(place, settings, { name, from: size.from, all, missed, problems }));
  await settings.close();
  return {
    headings: ['DESTINATION', 'EVENTS', 'HAD', 'REPLAYED', 'TOOK S', 'AGAIN', 'MISSING', 'SENT TWICE'],
    rows,
    notes: ['AGAIN: what a second replay of the same range brought.'],
    problems,
  };
}

interface OneReplay {
  name: Drilled;
  from: string;
  all: readonly Sent[];
  missed: readonly Sent[];
  problems: string[];
}

async function replayOne(place: Place, settings: SettingsEditor, { name, from, all, missed, problems }: OneReplay) {
  const before = arrivalsOf(place, name, all).delaysMs.length;
  const replay = () =>
    settings.run<ReplayItem>('replay', '--destination', name, '--from', from, '--to', 'now', '--rate', '2000');
  const beganMs = performance.now();
  const first = await replay();
  const tookS = (performance.now() - beganMs) / 1_000;
  const second = await replay();
  const after = arrivalsOf(place, name, all);
  const repeated = Object.values(place.standins[name].ledger.totals()).reduce((sum, one) => sum + one.repeated, 0);
  if (before !== all.length - missed.length) problems.push(`${name}: had ${before} before the replay`);
  if (first.chosen !== missed.length) problems.push(`${name}: ${first.chosen} replayed of ${missed.length}`);
  if (second.chosen + after.missing + repeated > 0) {
    problems.push(`${name}: ${second.chosen} again, ${after.missing} missing, ${repeated} sent twice`);
  }
  return [name, all.length, before, first.chosen, tookS.toFixed(1), second.chosen, after.missing, repeated].map(String);
}

async function arrived(place: Place, sent: readonly Sent[]): Promise<void> {
  const missing = () => DRILLED.reduce((sum, name) => sum + arrivalsOf(place, name, sent).missing, 0);
  await until('everything has arrived', missing, (seen) => seen === 0, { timeoutMs: ARRIVED_MS, everyMs: 250 });
}

async function switchSites(settings: SettingsEditor, sites: ReadonlySet<DrillSite>, verb: 'enable' | 'disable') {
  for (const { site } of sites) {
    for (const name of DRILLED) await settings.run('destination', verb, name, '--site', site);
  }
  await sleep(KNOWN_MS);
}
