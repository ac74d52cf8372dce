// Judges alerts: those of intervals once each of them is over and stored, those of states every few minutes.

import { stateName } from '#infra/alerts/alert_topic.ts';
import type { Logger } from '#infra/log/logger.ts';
import { isOfIntervals } from '#pipelines/alerts/alert_kinds.ts';
import { allAlerts, type Figure, judge, newState, type SiteAlert } from '#pipelines/alerts/judge.ts';
import { firedAlert, outlived } from '#pipelines/alerts/sends.ts';
import { intervalName } from '#pipelines/settings/calendar.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { AlertState, FiredAlert } from '#schemas/records.ts';
import type { AlertLog } from './leader.ts';

/** What was found of an alert; a code where nothing was. `isLasting`: another try would find no more. */
export type Found =
  | { ok: true; figures: Figure[]; detail: string }
  | { ok: false; problem: string; isLasting: boolean };

/** Where figures come from. */
export interface FigureSource {
  /** Those of the intervals that were over by a time, as far as they are not judged. */
  ofIntervals(one: SiteAlert, judgedTo: number, endedBy: number): Promise<Found>;
  /** Of each of some alerts of states, in their order. */
  ofStates(some: readonly SiteAlert[]): Promise<Found[]>;
}

export interface EvaluationParts {
  settings: Pick<SettingsTable, 'site' | 'sites' | 'alerts'>;
  source: FigureSource;
  /** Whether all that had come by a time is stored. */
  isStored(byMs: number): Promise<boolean>;
  evaluated(outcome: 'judged' | 'not_answered'): void;
  logger: Pick<Logger, 'info' | 'warn'>;
  nowMs(): number;
}

const LOOK_MS = 300_000;
/** Between two questions, so that 120 a minute are asked at the most. */
const PAUSE_MS = 500;
/** After ClickHouse or Redis did not answer. */
const AGAIN_MS = 60_000;
/** A figure that says nothing new is written down so seldom. */
const WRITTEN_MS = 3_600_000;
/** Removed alerts and old firings are looked for so often. */
const TIDY_MS = 600_000;

/** What is to be asked of an alert of intervals. */
interface Due {
  one: SiteAlert;
  /** Rule and interval: what was asked for them is not asked again. */
  name: string;
  sinceMs: number;
}

export type Evaluation = ReturnType<typeof createEvaluation>;

/** What was asked is known in memory alone: whoever follows asks once more, and judges nothing twice, as states say up to where. */
export function createEvaluation(parts: EvaluationParts) {
  const { settings, source, isStored, evaluated, logger, nowMs } = parts;
  const asked = new Map<string, { name: string; againMs: number | null }>();
  const due = new Map<string, Due>();
  let pausesUntilMs = 0;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let tidiedMs = Number.NEGATIVE_INFINITY;

  /** What is not known yet begins when the alert was made; what was changed, or paused, when that is seen. */
  function stateOf(log: AlertLog, { site, setting, alert, rule }: SiteAlert): AlertState {
    const known = log.now.states.get(nameOf({ site, alert }));
    if (known !== undefined && known.rule === rule && known.status !== 'paused') return known;
    return newState(site.site_id, alert, rule, known === undefined ? setting.created_at : nowMs());
  }

  function findDue(all: readonly SiteAlert[]): void {
    const names = new Map<string, string>();
    const there = new Set<string>();
    for (const one of all) {
      const { alert, calendar, rule } = one;
      if (!alert.enabled || !isOfIntervals(alert.kind)) continue;
      const place = nameOf(one);
      there.add(place);
      const { interval = 'day', grace_minutes } = alert;
      const named = [interval, calendar.timeZone, calendar.weekStart, grace_minutes].join(' ');
      const over = names.get(named) ?? intervalName(nowMs() - grace_minutes * 60_000, interval, calendar);
      names.set(named, over);
      const name = `${rule} ${named} ${over}`;
      const before = asked.get(place);
      const isAgain = before?.againMs != null && before.againMs <= nowMs();
      if (before?.name === name && !isAgain) due.delete(place);
      else if (due.get(place)?.name !== name) due.set(place, { one, name, sinceMs: nowMs() });
    }
    for (const known of [asked, due]) for (const place of known.keys()) if (!there.has(place)) known.delete(place);
  }

  async function ask(log: AlertLog, place: string, { one, name, sinceMs }: Due): Promise<void> {
    const { alert } = one;
    const state = stateOf(log, one);
    const found = await source.ofIntervals(one, state.judged_to, sinceMs - alert.grace_minutes * 60_000);
    await write(log, [[one, state, found]]);
    asked.set(place, { name, againMs: found.ok || found.isLasting ? null : nowMs() + AGAIN_MS });
    due.delete(place);
  }

  async function look(log: AlertLog, all: readonly SiteAlert[]): Promise<void> {
    const some = all.filter(({ alert }) => alert.enabled && !isOfIntervals(alert.kind));
    if (some.length === 0) return;
    const found = await source.ofStates(some);
    await write(
      log,
      some.map((one, at) => [one, stateOf(log, one), found[at] as Found]),
    );
  }

  /** Writes down what is new of some alerts: a state together with what fired by it. */
  async function write(log: AlertLog, all: readonly [SiteAlert, AlertState, Found][]): Promise<void> {
    const states: AlertState[] = [];
    const fired: FiredAlert[] = [];
    for (const [{ site, alert }, before, found] of all) {
      evaluated(found.ok ? 'judged' : 'not_answered');
      const judged = found.ok
        ? judge(alert, before, found.figures, nowMs())
        : { state: { ...before, problem: found.problem, looked_at: nowMs() }, firings: [] };
      if (isWorthWriting(log.now.states.get(stateName(before)), judged.state)) states.push(judged.state);
      const detail = found.ok ? found.detail : '';
      fired.push(...judged.firings.map((firing) => firedAlert(site.site_id, alert, firing, detail)));
    }
    if (states.length > 0) await log.write(() => ({ states, fired }));
    for (const { site_id, alert_id, fired_id, is } of fired) {
      logger.info({ site: site_id, alert: alert_id, fired: fired_id, is }, 'an alert says something');
    }
  }

  /** Alerts that are paused begin anew when they go on; of those that are gone nothing is kept. */
  async function tidy(log: AlertLog, all: readonly SiteAlert[]): Promise<void> {
    const there = new Set(all.map(nameOf));
    const known = [...log.now.states.values()];
    const goneStates = known.filter((state) => !there.has(stateName(state)));
    const goneFired = outlived(log.now.fired.values(), nowMs(), (id) => settings.site(id) !== undefined);
    if (goneStates.length + goneFired.length > 0) await log.write(() => ({ goneStates, goneFired }));
  }

  async function pause(log: AlertLog, all: readonly SiteAlert[]): Promise<void> {
    const states = all.flatMap((one): AlertState[] => {
      const { site, alert, setting, rule } = one;
      const before = log.now.states.get(nameOf(one));
      if (alert.enabled || before?.status === 'paused') return [];
      const state = before ?? newState(site.site_id, alert, rule, setting.created_at);
      return [{ ...state, status: 'paused', since: nowMs(), met_since: null, well: 0, problem: '' }];
    });
    if (states.length > 0) await log.write(() => ({ states }));
  }

  return {
    /** Does what is due; to be called again and again, by whoever leads. */
    async step(log: AlertLog): Promise<void> {
      const all = allAlerts(settings);
      await pause(log, all);
      if (nowMs() - tidiedMs >= TIDY_MS) {
        await tidy(log, all);
        tidiedMs = nowMs();
      }
      if (nowMs() - lookedMs >= LOOK_MS) {
        await look(log, all);
        lookedMs = nowMs();
      }
      findDue(all);
      if (due.size === 0 || nowMs() < pausesUntilMs) return;
      for (const [place, one] of due) {
        if (!(await isStored(one.sinceMs))) continue;
        await ask(log, place, one);
        pausesUntilMs = nowMs() + PAUSE_MS;
        return;
      }
    },
    /** How long ago what waits longest was due, in milliseconds; 0: nothing is. */
    overdueMs(): number {
      const since = [...due.values()].map(({ sinceMs }) => sinceMs);
      return since.length === 0 ? 0 : Math.max(0, nowMs() - Math.min(...since));
    },
    /** To be called where another one leads. */
    reset(): void {
      asked.clear();
      due.clear();
      lookedMs = Number.NEGATIVE_INFINITY;
      tidiedMs = Number.NEGATIVE_INFINITY;
    },
  };
}

const nameOf = ({ site, alert }: Pick<SiteAlert, 'site' | 'alert'>): string =>
  stateName({ site_id: site.site_id, alert_id: alert.id });

function isWorthWriting(before: AlertState | undefined, after: AlertState): boolean {
  if (before === undefined || after.looked_at - before.looked_at >= WRITTEN_MS) return true;
  const said = ({ rule, status, met_since, well, problem, judged_to, from, to }: AlertState): string =>
    JSON.stringify([rule, status, met_since, well, problem, ...(from === to ? [] : [judged_to])]);
  return said(before) !== said(after);
}
