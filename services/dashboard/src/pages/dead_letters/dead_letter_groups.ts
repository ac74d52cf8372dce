import type { DeadLetterItem, ResendAnswer } from '#services/control_api/redelivery.ts';
import { number } from '../../format.ts';

export interface DeadLetterGroup {
  stage: DeadLetterItem['stage'];
  reason: string;
  count: number;
  events: number;
  firstMs: number;
  lastMs: number;
  /** Letters by the day they died on, in UTC: beginning of the day, and how many. */
  days: readonly { dayMs: number; count: number }[];
}

const DAY_MS = 86_400_000;

export function deadLetterGroups(deadLetters: readonly DeadLetterItem[]): DeadLetterGroup[] {
  const groups = Map.groupBy(deadLetters, ({ stage, reason }) => `${stage} ${reason}`);
  return [...groups.values()]
    .flatMap((alike) => {
      const [first] = alike;
      return first === undefined ? [] : [groupOf(first, alike)];
    })
    .sort((a, b) => b.count - a.count);
}

function groupOf({ stage, reason }: DeadLetterItem, alike: readonly DeadLetterItem[]): DeadLetterGroup {
  const times = alike.map(({ died_at }) => died_at);
  const days = Map.groupBy(times, (ms) => Math.floor(ms / DAY_MS) * DAY_MS);
  return {
    ...{ stage, reason, count: alike.length },
    events: alike.reduce((sum, { events }) => sum + (events ?? 0), 0),
    firstMs: times.reduce((least, ms) => Math.min(least, ms), Number.POSITIVE_INFINITY),
    lastMs: times.reduce((most, ms) => Math.max(most, ms), 0),
    days: [...days].map(([dayMs, ones]) => ({ dayMs, count: ones.length })).sort((a, b) => a.dayMs - b.dayMs),
  };
}

/** Letters of every day of a span, also of days that have none. */
export function countsByDay(group: DeadLetterGroup, fromMs: number, toMs: number): number[] {
  const first = Math.floor(fromMs / DAY_MS);
  const last = Math.floor((toMs - 1) / DAY_MS);
  const counts = new Map(group.days.map(({ dayMs, count }) => [dayMs / DAY_MS, count]));
  return Array.from({ length: Math.max(1, last - first + 1) }, (_, at) => counts.get(first + at) ?? 0);
}

/** Letters about which nobody did anything yet, and whose events their destination has not taken since. */
export const isOpen = ({
  resent_at,
  resolved,
  delivery,
}: Pick<DeadLetterItem, 'resent_at' | 'resolved' | 'delivery'>): boolean =>
  resent_at === null && resolved === null && delivery !== 'delivered';

export const resendable = (deadLetters: readonly DeadLetterItem[]): DeadLetterItem[] =>
  deadLetters.filter((deadLetter) => deadLetter.resendable && isOpen(deadLetter));

/** Requests may name so many letters at once. */
const AT_ONCE_MAX = 100;

export const portions = (ids: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(ids.length / AT_ONCE_MAX) }, (_, at) =>
    ids.slice(at * AT_ONCE_MAX, (at + 1) * AT_ONCE_MAX),
  );

/** What the page of letters is asked with for all that are open and hold events of a site: as long as any is kept. */
export const openDeadLettersQuery = (siteId: string | null): Record<string, string> => ({
  period: '90d',
  ...(siteId !== null && { site: siteId }),
});

export const DEAD_LETTER_FILTERS = [
  { value: 'open', label: 'Open', takes: isOpen },
  { value: 'resent', label: 'Resent', takes: ({ resent_at }: DeadLetterItem) => resent_at !== null },
  { value: 'delivered', label: 'Delivered since', takes: ({ delivery }: DeadLetterItem) => delivery === 'delivered' },
  { value: 'resolved', label: 'Resolved', takes: ({ resolved }: DeadLetterItem) => resolved !== null },
  { value: 'all', label: 'All', takes: () => true },
] as const;

type Outcomes = ResendAnswer['items'];

export function stateOf({ resent_at, resolved, delivery, resendable: isResendable }: DeadLetterItem): string {
  if (resolved !== null) return 'Resolved';
  if (delivery === 'delivered') return 'Delivered since';
  if (delivery === 'waiting') return 'Waiting for a retry';
  if (resent_at !== null) return 'Resent';
  if (delivery === 'unknown') return 'Open; delivery unknown';
  return isResendable ? 'Can be resent' : 'Cannot be resent';
}

export const deadLetterCount = (count: number): string => `${number(count)} dead ${count === 1 ? 'letter' : 'letters'}`;

const REASONS: readonly { outcome: Outcomes[number]['outcome']; text: string }[] = [
  { outcome: 'resent_before', text: 'already resent' },
  { outcome: 'delivered', text: 'already delivered' },
  { outcome: 'waiting', text: 'waiting for a retry' },
  { outcome: 'no_destination', text: 'skipped, as the destination is disabled or removed' },
  { outcome: 'replay_runs', text: 'skipped, as a replay to the destination is running' },
  { outcome: 'not_known', text: 'skipped, as their delivery is unknown: try again in a moment' },
];

export function resentSentence(outcomes: Outcomes): string {
  const count = (wanted: string): number => outcomes.filter(({ outcome }) => outcome === wanted).length;
  const sent = count('resent');
  const told = REASONS.map(({ outcome, text }) => ({ found: count(outcome), text }));
  const others = outcomes.length - sent - told.reduce((sum, { found }) => sum + found, 0);
  return [
    sent === 0 ? 'No dead letters resent' : `${deadLetterCount(sent)} resent`,
    ...told.filter(({ found }) => found > 0).map(({ found, text }) => `${number(found)} ${text}`),
    ...(others > 0 ? [`${number(others)} could not be resent`] : []),
  ].join(', ');
}

const SETTLED: ReadonlySet<string> = new Set(['resent', 'resent_before', 'delivered', 'waiting']);

/** Whether nothing is left to be done about letters that were to be sent in again. */
export const isAllSettled = (outcomes: Outcomes): boolean => outcomes.every(({ outcome }) => SETTLED.has(outcome));
