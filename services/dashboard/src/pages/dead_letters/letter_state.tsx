import type { VNode } from 'preact';
import type { LetterItem } from '#services/control_api/dead_letter_shapes.ts';
import { Badge } from '../../ui/badge.tsx';
import { mayAt, mayEverywhere } from '../../who.ts';
import { isOpen } from './letter_groups.ts';

/** What was done about a letter, or can be, in words. */
export function stateOf({ resent_at, resolved, delivery, resendable: isResendable }: LetterItem): string {
  if (resolved !== null) return 'Resolved';
  if (delivery === 'delivered') return 'Delivered since';
  if (delivery === 'waiting') return 'Waits to be tried again';
  if (resent_at !== null) return 'Sent in again';
  if (delivery === 'unknown') return 'Open; whether it was delivered is not known';
  return isResendable ? 'Can be sent in again' : 'Cannot be sent in again';
}

/** What was done about a letter, or can be. */
export function LetterState({ letter }: { letter: LetterItem }): VNode {
  const kind = !isOpen(letter) ? 'good' : letter.resendable ? 'warn' : 'plain';
  return <Badge kind={kind}>{stateOf(letter)}</Badge>;
}

/** Whether the person may send in or resolve a letter: at each of its sites, or everywhere where these are not known. */
export const mayChangeLetter = ({ site_ids }: LetterItem): boolean =>
  site_ids.length === 0
    ? mayEverywhere('dead_letters.change')
    : site_ids.every((siteId) => mayAt('dead_letters.change', siteId));
