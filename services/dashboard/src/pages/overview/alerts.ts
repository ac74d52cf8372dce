import type { HealthItem } from '#services/control_api/destinations.ts';
import type { RejectionsItem, TagHealthItem } from '#services/control_api/operations.ts';
import type { DeadLetterItem } from '#services/control_api/redelivery.ts';
import type { AccountItem } from '#services/control_api/sites.ts';
import { ago, events, number, percent } from '../../format.ts';
import { type AllowanceState, GRACE, monthOutlook } from '../account/usage_lines.ts';
import { isOpen, openDeadLettersQuery } from '../dead_letters/dead_letter_groups.ts';
import { undeliveredSentences } from '../destinations/destination_rows.ts';

/** Something that needs somebody: what is wrong, and what to do about it. */
export interface Alert {
  id: string;
  severity: 'bad' | 'warn';
  title: string;
  advice: string;
  path: string;
  query?: Readonly<Record<string, string>>;
}

export const deliveryAlerts = (siteId: string, items: readonly HealthItem[], nowMs: number): Alert[] =>
  items.flatMap((item): Alert[] => {
    const { destination, state, reason, failed, delivered_at } = item;
    const lost = undeliveredSentences(item);
    const common = { path: `/sites/${encodeURIComponent(siteId)}/destinations`, query: { destination } };
    const last =
      delivered_at === null ? 'It has delivered nothing yet.' : `It last delivered ${ago(delivered_at, nowMs)}.`;
    if (state === 'waits_for_settings') {
      const title = `${destination} rejects its settings (${reason})`;
      const advice = ['Correct its settings or credentials.', ...lost, last].join(' ');
      return [{ ...common, id: `settings ${destination}`, severity: 'bad', title, advice }];
    }
    if (state === 'failing') {
      const title = `${destination} is not delivering (${reason})`;
      const advice = [...lost, 'If this persists, check the responses of the platform.', last].join(' ');
      return [{ ...common, id: `failing ${destination}`, severity: 'bad', title, advice }];
    }
    if (failed === 0) return [];
    const title = `${events(failed)} to ${destination} failed in the last 24 hours`;
    const advice = 'Check why, and replay them once that is fixed.';
    return [{ ...common, id: `dead ${destination}`, severity: 'warn', title, advice }];
  });

export function tagAlerts(siteId: string, tag: TagHealthItem, nowMs: number): Alert[] {
  const site = `/sites/${encodeURIComponent(siteId)}`;
  const since = tag.last_event_at === null ? '' : `, last ${ago(tag.last_event_at, nowMs)}`;
  const { now, usual } = tag.last_day;
  const alerts: Alert[] = [];
  if (tag.state === 'never') {
    alerts.push({
      ...{ id: 'tag never', severity: 'warn', path: `${site}/install` },
      title: 'No browser has sent an event yet',
      advice: 'Add the snippet to the pages of the site.',
    });
  }
  if (tag.state === 'quiet') {
    alerts.push({
      ...{ id: 'tag quiet', severity: 'bad', path: `${site}/live` },
      title: `Browsers send far fewer events than usual${since}`,
      advice: `${number(now)} in the last 24 hours, usually ${number(usual)}. Check that the snippet is still on the pages, and that no policy or consent blocks it.`,
    });
  }
  for (const { id, name, state, last_fired_at } of tag.definitions) {
    if (state !== 'stopped') continue;
    alerts.push({
      ...{ id: `definition ${id}`, severity: 'warn', path: `${site}/definitions` },
      title: `“${name}” stopped firing`,
      advice: `It last fired ${last_fired_at === null ? 'before counting began' : ago(last_fired_at, nowMs)}. Check that its selector still matches the page.`,
    });
  }
  if (tag.reported.blocked > 0) {
    alerts.push({
      ...{ id: 'tag blocked', severity: 'warn', path: `${site}/install` },
      title: `A content security policy blocked ${number(tag.reported.blocked)} requests of the tag in the last 7 days`,
      advice: 'Add the address of the service to connect-src of the pages.',
    });
  }
  return alerts;
}

/** Below so many, or so small a share of the day, it is chance, or somebody who tries things out. */
const REFUSED_MIN = 20;
const REFUSED_SHARE = 0.01;

/** What was not accepted of a site in the last 24 hours, and how many events it stored in them. */
export interface DayOfRejections {
  totals: RejectionsItem['totals'];
  /** Null where they were not counted, as too little was refused for it to matter. */
  events: number | null;
}

/** Whether so much of a day was not accepted that how many events there were has to be known. */
export const needsEvents = (totals: RejectionsItem['totals']): boolean =>
  rejectedOf(totals) >= REFUSED_MIN || foreignOf(totals) >= REFUSED_MIN;

const rejectedOf = (totals: RejectionsItem['totals']): number =>
  totals.reduce((sum, { kind, count }) => sum + (kind === 'rejected' ? count : 0), 0);

const foreignOf = (totals: RejectionsItem['totals']): number =>
  totals.reduce((sum, { code, count }) => sum + (code === 'origin_not_allowed' ? count : 0), 0);

/** Whether a notable share of a day's events is malformed, or comes from pages that may not send it. */
export function rejectionAlerts(siteId: string, { totals, events }: DayOfRejections): Alert[] {
  if (events === null) return [];
  const path = `/sites/${encodeURIComponent(siteId)}/refusals`;
  const [rejected, foreign] = [rejectedOf(totals), foreignOf(totals)];
  const alerts: Alert[] = [];
  if (isNotable(rejected, events)) {
    const share = percent(rejected / (rejected + events));
    alerts.push({
      ...{ id: 'rejected', severity: 'warn', path },
      title: `${number(rejected)} events were rejected as malformed in the last 24 hours, ${share}`,
      advice: 'Check their reasons and keys, and correct the sender.',
    });
  }
  if (isNotable(foreign, events)) {
    alerts.push({
      ...{ id: 'origin', severity: 'warn', path },
      title: `${number(foreign)} requests from pages that no key allows were rejected in the last 24 hours`,
      advice: 'If one of your pages is missing from the allowed origins of its key, add it: its events are lost.',
    });
  }
  return alerts;
}

const isNotable = (refused: number, events: number): boolean =>
  refused >= REFUSED_MIN && refused > (refused + events) * REFUSED_SHARE;

const QUOTA_TITLES: Readonly<Record<AllowanceState, string>> = {
  within: '',
  will_end: 'The monthly allowance will be exceeded',
  used_up: 'The monthly allowance is used up',
  dropping: 'The monthly allowance is used up: events are dropped',
};

export function quotaAlerts(account: AccountItem, nowMs: number): Alert[] {
  const { monthly_allowance: allowance, used_this_month: used } = account;
  if (used === null) return [];
  const { state, expected } = monthOutlook(used, allowance, nowMs);
  if (state === 'within') return [];
  const of = `${number(used)} of ${number(allowance)} events, ${percent(used / Math.max(1, allowance))}`;
  const advice = {
    will_end: `${of}; at this rate it comes to ${number(expected?.total ?? null)} by its end.`,
    used_up: `${of}. From ${percent(GRACE)} on events are dropped: raise the allowance before.`,
    dropping: `${of}. Raise the allowance of the account.`,
  }[state];
  const severity = state === 'will_end' ? 'warn' : 'bad';
  return [{ id: 'quota', severity, title: QUOTA_TITLES[state], path: '/account', advice }];
}

/** Dead letters with events of a site that nobody sent in again or resolved, and that were not delivered since. */
export function deadLetterAlerts(siteId: string, deadLetters: readonly DeadLetterItem[], more: boolean): Alert[] {
  const open = deadLetters.filter(isOpen);
  const query = openDeadLettersQuery(siteId);
  const common = { id: 'letters', severity: 'warn', path: '/dead-letters', query } as const;
  if (open.length === 0) {
    if (!more) return [];
    const title = `More than ${number(deadLetters.length)} dead letters: open ones are unknown`;
    return [{ ...common, title, advice: 'Those checked need no action. Check those of the last days.' }];
  }
  const stages = [...new Set(open.map(({ stage }) => stage))].join(', ');
  const count = `${more ? 'More than ' : ''}${number(open.length)}`;
  return [
    {
      ...common,
      title: `${count} open dead ${open.length === 1 ? 'letter' : 'letters'} (${stages})`,
      advice: 'Check their reasons, resend those that can be resent, and resolve the others.',
    },
  ];
}
