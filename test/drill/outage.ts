import { setTimeout as sleep } from 'node:timers/promises';
import type { HealthItem } from '#services/control_api/delivery_health_shapes.ts';
import { openSettings, type SettingsEditor } from '#test/harness/settings.ts';
import { until } from '#test/harness/until.ts';
import { arrivalsOf, quantile } from './arrivals.ts';
import { DRILLED, type Drilled, type Place } from './place.ts';
import { type DrillSite, makeSites, OLD_TOKEN } from './sites.ts';
import type { Report } from './table.ts';
import { type Sent, sendEvents } from './traffic.ts';

export interface OutageSize {
  events: number;
  sites: number;
  /** How long events flow before anything is broken, and how long it stays broken. */
  calmMs: number;
  outageMs: number;
  /** Longest until everything has arrived after the healing. */
  healedMs: number;
}

export const FULL_OUTAGE: OutageSize = {
  events: 50_000,
  sites: 20,
  calmMs: 60_000,
  outageMs: 120_000,
  healedMs: 300_000,
};

/** The calm's part that is sent before it, and not counted: until then the processes are slower than they will be. */
const WARM_SHARE = 2;
const FAILING: Drilled = 'tiktok';
const REVOKED: Drilled = 'meta';
/** Delays shorter than this are not told from each other: the flow's own steps and a busy machine are as long. */
const DELAY_MS_MIN = 1_000;
const SHOWN_MS_MAX = 30_000;
const RESUMED_MS_MAX = 30_000;
const INVALID_TOKEN = { kind: 'graph_error', code: 190, status: 401 } as const;

/**
 * One destination answers 500, then nothing, then 429, a third of the time each, while one site's token is revoked at
 * another. Holds that nobody else is delayed, and that after the healing everything is there once.
 */
export async function drillOutage(place: Place, size: OutageSize, say: (line: string) => void): Promise<Report> {
  const settings = await openSettings(place.service);
  const sites = await makeSites(place, settings, size.sites);
  const revoked = sites[0] as DrillSite;
  const perSecond = (size.events * 1_000) / (size.calmMs + size.outageMs);
  const countOf = (ms: number): number => Math.round((perSecond * ms) / 1_000);
  const send = (prefix: string, ms: number): Promise<Sent[]> =>
    sendEvents(place.edge, sites, prefix, { count: countOf(ms), perSecond });

  say(`${size.events} events over ${size.sites} sites, ${Math.round(perSecond)} a second`);
  // Processes that just started are slow, and what they are behind would count as undisturbed delay.
  await arrived(place, await send('warm', size.calmMs / WARM_SHARE), size.healedMs);
  const calm = await send('calm', size.calmMs);
  await arrived(place, calm, size.healedMs);
  say(`${FAILING} fails, and a token of ${REVOKED} is revoked`);
  place.standins[REVOKED].script.set([{ fault: INVALID_TOKEN, scope: revoked.scopes[REVOKED], token: OLD_TOKEN }]);
  const failing = failInTurns(place, size.outageMs, say);
  const during = await send('during', size.outageMs);
  await failing;
  say(`${FAILING} is well again`);
  const healedAtMs = performance.now();

  const all = [...calm, ...during];
  const isOpen = (name: Drilled, { site }: Sent): boolean => name !== REVOKED || site !== revoked;
  const missing = () =>
    DRILLED.reduce(
      (sum, name) =>
        sum +
        arrivalsOf(
          place,
          name,
          all.filter((one) => isOpen(name, one)),
        ).missing,
      0,
    );
  await until('everything but the revoked site has arrived', missing, (seen) => seen === 0, {
    timeoutMs: size.healedMs,
    everyMs: 500,
  });
  const healedS = (performance.now() - healedAtMs) / 1_000;
  await untilShown(settings, revoked);
  say(`all of the others arrived ${healedS.toFixed(1)} s later; the revoked site gets a new secret`);
  const words = ['--site', revoked.site, '--secret', 'access_token=new-token'];
  const resumedAtMs = performance.now();
  await settings.run('destination', 'set', REVOKED, ...words);
  const revokedMissing = () =>
    arrivalsOf(
      place,
      REVOKED,
      all.filter(({ site }) => site === revoked),
    ).missing;
  await until('the revoked site resumes', revokedMissing, (seen) => seen === 0, {
    timeoutMs: size.healedMs,
    everyMs: 250,
  });
  const resumedMs = performance.now() - resumedAtMs;
  await settings.close();
  return report(place, { calm, during, isOpen, healedS, resumedMs });
}

async function arrived(place: Place, sent: readonly Sent[], timeoutMs: number): Promise<void> {
  const missing = () => DRILLED.reduce((sum, name) => sum + arrivalsOf(place, name, sent).missing, 0);
  await until('what was sent before the outage has arrived', missing, (seen) => seen === 0, {
    timeoutMs,
    everyMs: 250,
  });
}

/** The revoked token shows where an operator looks. */
async function untilShown(settings: SettingsEditor, { site }: DrillSite): Promise<void> {
  const states = async () => {
    const words = ['--site', site, '--destination', REVOKED];
    const items = await settings.run<HealthItem[]>('destination', 'health', ...words);
    return items.map(({ state }) => state);
  };
  const isShown = (seen: string[]): boolean => seen.includes('waits_for_settings');
  await until('the revoked token shows', states, isShown, { timeoutMs: SHOWN_MS_MAX, everyMs: 500 });
}

/** A third of the time each: errors, silence, throttling. */
async function failInTurns(place: Place, outageMs: number, say: (line: string) => void): Promise<void> {
  const { script } = place.standins[FAILING];
  const turns = [{ kind: 'status', status: 500 }, { kind: 'hang' }, { kind: 'throttle', retry_after_s: 2 }] as const;
  for (const fault of turns) {
    say(`  ${FAILING}: ${fault.kind}`);
    script.set([{ fault }]);
    await sleep(outageMs / turns.length);
  }
  script.set([]);
}

interface Findings {
  calm: readonly Sent[];
  during: readonly Sent[];
  isOpen(name: Drilled, sent: Sent): boolean;
  healedS: number;
  resumedMs: number;
}

function report(place: Place, { calm, during, isOpen, healedS, resumedMs }: Findings): Report {
  const problems: string[] = [];
  const rows = DRILLED.map((name) => {
    const before = arrivalsOf(
      place,
      name,
      calm.filter((one) => isOpen(name, one)),
    );
    const within = arrivalsOf(
      place,
      name,
      during.filter((one) => isOpen(name, one)),
    );
    const { missing, doubled } = arrivalsOf(place, name, [...calm, ...during]);
    const [calmP99, outageP99] = [quantile(before.delaysMs, 0.99), quantile(within.delaysMs, 0.99)];
    const limitMs = 2 * Math.max(calmP99, DELAY_MS_MIN);
    if (missing + doubled > 0) problems.push(`${name}: ${missing} missing, ${doubled} counted twice`);
    if (name !== FAILING && outageP99 > limitMs) problems.push(`${name}: p99 ${outageP99} ms, above ${limitMs} ms`);
    const p50s = [quantile(before.delaysMs, 0.5), quantile(within.delaysMs, 0.5)];
    return [name, calm.length + during.length, p50s[0], calmP99, p50s[1], outageP99, missing, doubled].map(String);
  });
  if (resumedMs > RESUMED_MS_MAX) problems.push(`the revoked site took ${Math.round(resumedMs)} ms`);
  return {
    headings: [
      'DESTINATION',
      'EVENTS',
      'CALM P50 MS',
      'CALM P99 MS',
      'OUTAGE P50 MS',
      'OUTAGE P99 MS',
      'MISSING',
      'TWICE',
    ],
    rows,
    notes: [
      `${FAILING} failed; everything else had arrived ${healedS.toFixed(1)} s after it was well.`,
      `The revoked site of ${REVOKED} had everything ${(resumedMs / 1_000).toFixed(1)} s after its new secret; its delays are left out.`,
    ],
    problems,
  };
}
