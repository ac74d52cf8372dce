import type { VNode } from 'preact';
import type { LetterItem } from '#services/control_api/redelivery.ts';
import { Badge } from '../../ui/badge.tsx';
import { mayAt, mayEverywhere } from '../../who.ts';
import { isOpen } from './letter_groups.ts';
import { stateOf } from './letter_text.ts';

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
