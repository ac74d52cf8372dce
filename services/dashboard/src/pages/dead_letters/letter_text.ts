import type { LetterItem, ResendAnswer } from '#services/control_api/redelivery.ts';
import { number } from '../../format.ts';

type Outcomes = ResendAnswer['items'];

/** What was done about a letter, or can be, in words. */
export function stateOf({ resent_at, resolved, delivery, resendable: isResendable }: LetterItem): string {
  if (resolved !== null) return 'Resolved';
  if (delivery === 'delivered') return 'Delivered since';
  if (delivery === 'waiting') return 'Waits to be tried again';
  if (resent_at !== null) return 'Sent in again';
  if (delivery === 'unknown') return 'Open; whether it was delivered is not known';
  return isResendable ? 'Can be sent in again' : 'Cannot be sent in again';
}

const REASONS: readonly { outcome: Outcomes[number]['outcome']; text: string }[] = [
  { outcome: 'resent_before', text: 'had been before' },
  { outcome: 'delivered', text: 'not, as the destination has them by now' },
  { outcome: 'waiting', text: 'not, as they are tried again by themselves' },
  { outcome: 'no_destination', text: 'not, as the destination is switched off or gone' },
  { outcome: 'replay_runs', text: 'not yet, as a replay to the destination is not over' },
  { outcome: 'not_known', text: 'not yet, as it is not known whether the destination has them: try again in a moment' },
];

/** What became of letters, in a sentence. */
export function resentSentence(outcomes: Outcomes): string {
  const count = (wanted: string): number => outcomes.filter(({ outcome }) => outcome === wanted).length;
  const sent = count('resent');
  const told = REASONS.map(({ outcome, text }) => ({ found: count(outcome), text }));
  const others = outcomes.length - sent - told.reduce((sum, { found }) => sum + found, 0);
  return [
    sent === 0
      ? 'No letter was sent in again'
      : `${number(sent)} ${sent === 1 ? 'letter was' : 'letters were'} sent in again`,
    ...told.filter(({ found }) => found > 0).map(({ found, text }) => `${number(found)} ${text}`),
    ...(others > 0 ? [`${number(others)} could not be`] : []),
  ].join(', ');
}

const SETTLED: ReadonlySet<string> = new Set(['resent', 'resent_before', 'delivered', 'waiting']);

/** Whether nothing is left to be done about letters that were to be sent in again. */
export const isAllSettled = (outcomes: Outcomes): boolean => outcomes.every(({ outcome }) => SETTLED.has(outcome));
