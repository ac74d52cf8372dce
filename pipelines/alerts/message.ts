// What channels are told, for people and for programs.

import type { FiredAlert } from '#schemas/records.ts';
import { localText } from '../settings/calendar.ts';
import type { Condition } from './alert.ts';

/** Where a message is from, and where to look further. */
export interface MessageContext {
  siteName: string;
  timeZone: string;
  /** Of the page of alerts; null where the dashboard's address is not configured. */
  pageUrl: string | null;
}

const AGAINST: Readonly<Record<string, string>> = {
  previous: 'the interval before',
  day: 'the same hour a day before',
  week: 'the same interval 7 days before',
  year: 'the same interval a year before',
};

const number = (value: number): string => new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 }).format(value);

const IN_PERCENT: ReadonlySet<string> = new Set(['rejected_share', 'match_quality', 'allowance']);

/** A figure of a kind of alerts, as people read it. */
export const figureText = (kind: string, value: number | null): string =>
  value === null ? 'unknown' : `${number(value)}${IN_PERCENT.has(kind) ? '%' : ''}`;

/** When a condition is met, as people say it. */
export function conditionText(kind: string, condition: Condition): string {
  if (condition.is === 'no_data') return 'no events';
  if (condition.is === 'failing') return `not delivering for ${condition.minutes} minutes`;
  if ('value' in condition) return `${condition.is} ${figureText(kind, condition.value)}`;
  return `${condition.is} by more than ${number(condition.percent)}% against ${AGAINST[condition.against] ?? ''}`;
}

/** Line breaks and characters that are not drawn would let a name say something beside itself. */
const plain = (text: string): string => text.replace(/[\p{C}\s]+/gu, ' ').trim();

const SAYS: Readonly<Record<FiredAlert['is'], string>> = { fired: 'Alert', recovered: 'Over', test: 'Test' };

export const subjectOf = ({ is, name }: FiredAlert, { siteName }: MessageContext): string =>
  `[${plain(siteName)}] ${SAYS[is]}: ${plain(name)}`;

/** The lines of a message. */
export function linesOf(fired: FiredAlert, context: MessageContext): string[] {
  const { kind, is, at, value, base, from, to, detail, fired_id } = fired;
  const { timeZone, pageUrl } = context;
  const time = (ms: number): string => `${localText(ms, timeZone)} (${timeZone})`;
  const condition = JSON.parse(fired.condition) as Condition;
  const isOfTime = from !== null && to !== null && from !== to;
  return [
    ...(is === 'test' ? ['This is a test. Nothing has fired.'] : []),
    ...(is === 'recovered' ? ['The condition is not met any more.'] : []),
    `Condition: ${conditionText(kind, condition)}`,
    ...(is === 'test' || kind === 'destination_failing' ? [] : [`Figure: ${figureText(kind, value)}`]),
    ...(base === null ? [] : [`Compared with: ${figureText(kind, base)}`]),
    ...(detail === '' ? [] : [plain(detail)]),
    ...(isOfTime ? [`Interval: ${time(from)} to ${localText(to, timeZone)}`] : []),
    `Found: ${time(at)}`,
    ...(pageUrl === null ? [] : [`See ${pageUrl}`]),
    `Id: ${fired_id}`,
  ];
}

/** The body of a webhook, by Standard Webhooks. */
export function webhookBody(fired: FiredAlert, id: string): string {
  const { fired_id, site_id, alert_id, name, kind, is, at, from, to, value, base, condition, interval, detail } = fired;
  const data = { fired_id, site_id, alert_id, name, kind, from, to, value, base, interval: interval || null, detail };
  const timestamp = new Date(at).toISOString();
  return JSON.stringify({ type: `alert.${is}`, id, timestamp, data: { ...data, condition: JSON.parse(condition) } });
}

/** Slack reads these three as its own; what a name holds is shown as it is. */
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The body of an incoming webhook of Slack. Names are plain text, in which nobody can mention a channel. */
export function slackBody(fired: FiredAlert, context: MessageContext): string {
  const title = subjectOf(fired, context);
  const plainText = (text: string, type: 'header' | 'section') => ({ type, text: { type: 'plain_text', text } });
  return JSON.stringify({
    text: escaped(title),
    blocks: [
      plainText(title.slice(0, 150), 'header'),
      plainText(linesOf(fired, context).join('\n').slice(0, 3_000), 'section'),
    ],
  });
}
