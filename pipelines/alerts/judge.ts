// Judges an alert by the figures of its intervals, or by a look at a state: from what was known to what is known now; and alerts as
// settings have them.

import { hash } from 'node:crypto';
import { type Calendar, calendarOf } from '#pipelines/settings/calendar.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { AlertState } from '#schemas/records.ts';
import type { AlertSetting, Site } from '#schemas/setting.ts';
import type { Alert, Condition } from './alert.ts';

/** What was found of one interval, or at one look, whose `from` and `to` are then the same. */
export interface Figure {
  from: number;
  to: number;
  /** Null where it cannot be said, such as an average of nothing. */
  value: number | null;
  /** The same of the interval that it is compared with; null where there is none, or it cannot be said. */
  base: number | null;
  /** Events in the interval, and in the one that it is compared with. */
  events: number;
  baseEvents: number;
  /** Whether one of the intervals looked at before it had events. */
  hadEvents: boolean;
}

/** What an alert says of itself: it fired, or is over. */
export interface Firing {
  /** The same whenever the same is found again. */
  id: string;
  is: 'fired' | 'recovered';
  figure: Figure;
  at: number;
}

const CHANGE_EVENTS_MIN = 10;

/** What an alert judges by: where that is changed, it begins anew. Its name, channels and hours are no part of it. */
export function ruleOf({ kind, question, events, destination, interval, condition }: Alert): string {
  return hash('sha256', JSON.stringify([kind, question, events, destination, interval, condition]), 'hex').slice(0, 16);
}

/** Of an alert of which nothing is known yet: what began before is not judged. */
export function newState(siteId: string, { id }: Pick<Alert, 'id'>, rule: string, sinceMs: number): AlertState {
  return {
    ...{ site_id: siteId, alert_id: id, rule, status: 'waiting', since: sinceMs, judged_to: sinceMs },
    ...{ met_since: null, well: 0, value: null, base: null, from: null, to: null, problem: '', looked_at: sinceMs },
  };
}

/**
 * The state after some figures, in their order, and what is to be said of them. Figures that were judged before are passed over, so
 * that looking again changes nothing.
 */
export function judge(
  alert: Alert,
  state: AlertState,
  figures: readonly Figure[],
  nowMs: number,
): { state: AlertState; firings: Firing[] } {
  let now: AlertState = { ...state, problem: '', looked_at: nowMs };
  const firings: Firing[] = [];
  for (const figure of figures) {
    const isLook = figure.from === figure.to;
    if (isLook ? figure.to <= now.judged_to : figure.from < now.judged_to) continue;
    const before = now.status;
    now = judgeOne(alert, now, figure);
    const is = now.status === 'firing' ? 'fired' : 'recovered';
    const hasChanged = before !== now.status && (now.status === 'firing' || before === 'firing');
    if (!hasChanged || (is === 'recovered' && !alert.notify_recovery)) continue;
    firings.push({ id: firingId(now, is, figure.to), is, figure, at: nowMs });
  }
  return { state: now, firings };
}

function judgeOne(alert: Alert, state: AlertState, figure: Figure): AlertState {
  const { value, base, from, to } = figure;
  const seen = { ...state, value, base, from, to, judged_to: to };
  const isMet = meets(alert.condition, figure);
  // Of what cannot be judged nothing follows: neither that it is met, nor that it is over.
  if (isMet === null) return { ...seen, well: 0 };
  if (!isMet) return wellAgain(seen, alert.recover_after);
  const met_since = state.met_since ?? to;
  const waitMs = alert.condition.is === 'failing' ? alert.condition.minutes * 60_000 : 0;
  const met = { ...seen, met_since, well: 0 };
  if (state.status === 'firing') return met;
  return to - met_since >= waitMs ? { ...met, status: 'firing', since: to } : { ...met, status: 'ok' };
}

function wellAgain(state: AlertState, recoverAfter: number): AlertState {
  const { status, to, since } = state;
  const well = status === 'firing' ? state.well + 1 : 0;
  if (status === 'firing' && well < recoverAfter) return { ...state, well };
  return { ...state, status: 'ok', since: status === 'ok' ? since : (to ?? since), met_since: null, well: 0 };
}

/** Whether a condition is met; null where that cannot be said, or too little happened. */
export function meets(condition: Condition, figure: Figure): boolean | null {
  const { value, base, events, baseEvents, hadEvents } = figure;
  if (condition.is === 'no_data') return events > 0 ? false : hadEvents || null;
  if (condition.is === 'failing') return value === null ? null : value > 0;
  if (value === null) return null;
  if ('value' in condition) {
    if (events < (condition.at_least ?? 0)) return null;
    return condition.is === 'above' ? value > condition.value : value < condition.value;
  }
  if (base === null || Math.max(events, baseEvents) < (condition.at_least ?? CHANGE_EVENTS_MIN)) return null;
  const changed = value - base;
  const least = (Math.abs(base) * condition.percent) / 100;
  return condition.is === 'rose' ? changed > least : -changed > least;
}

/** By what it is about, so that whoever finds it again finds the same. */
function firingId({ site_id, alert_id, rule }: AlertState, is: Firing['is'], at: number): string {
  return hash('sha256', JSON.stringify([site_id, alert_id, rule, is, at]), 'base64url').slice(0, 22);
}

export interface SiteAlert {
  site: Site;
  calendar: Calendar;
  setting: AlertSetting;
  alert: Alert;
  rule: string;
}

/** Settings are another object with every change. */
const read = new WeakMap<AlertSetting, { alert: Alert; rule: string }>();

/** An alert of a site by its id; null where it is gone, or its site is. */
export function siteAlert(table: Pick<SettingsTable, 'site' | 'alerts'>, siteId: string, id: string): SiteAlert | null {
  const setting = table.alerts(siteId).find((one) => one.id === id);
  const site = table.site(siteId);
  return setting === undefined || site === undefined ? null : withSite(site, setting);
}

/** Every alert of every site. */
export function allAlerts(table: Pick<SettingsTable, 'sites' | 'alerts'>): SiteAlert[] {
  return table.sites().flatMap((site) => table.alerts(site.site_id).map((setting) => withSite(site, setting)));
}

function withSite(site: Site, setting: AlertSetting): SiteAlert {
  return { site, calendar: calendarOf(site), setting, ...parsed(setting) };
}

function parsed(setting: AlertSetting): { alert: Alert; rule: string } {
  const known = read.get(setting);
  if (known !== undefined) return known;
  const alert = JSON.parse(setting.definition) as Alert;
  const made = { alert, rule: ruleOf(alert) };
  read.set(setting, made);
  return made;
}
