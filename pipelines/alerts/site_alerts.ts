// Alerts as settings have them.

import { type Calendar, calendarOf } from '#pipelines/settings/calendar.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { AlertSetting, Site } from '#schemas/setting.ts';
import type { Alert } from './alert.ts';
import { ruleOf } from './judge.ts';

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
