import type { VNode } from 'preact';
import type { LetterItem } from '#services/control_api/dead_letter_shapes.ts';
import { addressOf } from '../../router.ts';
import { Badge } from '../../ui/badge.tsx';
import { mayAt } from '../../who.ts';
import { isOpen } from './letter_groups.ts';

const REPLAYED = new Set(['delivery']);

/** What was done about a letter, or can be, in words. */
export function stateOf({ stage, resent_at, resolved, resendable: isResendable }: LetterItem): string {
  if (resolved !== null) return 'Resolved';
  if (resent_at !== null) return 'Sent in again';
  if (isResendable) return 'Can be sent in again';
  return REPLAYED.has(stage) ? 'Can be replayed' : 'Cannot be sent in again';
}

/** What was done about a letter, or can be. */
export function LetterState({ letter }: { letter: LetterItem }): VNode {
  const kind = !isOpen(letter) ? 'good' : letter.resendable ? 'warn' : 'plain';
  return <Badge kind={kind}>{stateOf(letter)}</Badge>;
}

/** The address of a new replay of what the delivery that a letter died in gave up. */
export function lettersReplayAddress({ destination }: LetterItem): string | null {
  if (!mayAt('replays.change', null)) return null;
  const asked = { new: '1', source: 'dead_letters', ...(destination !== null && { destination }) };
  return addressOf('/replays', new URLSearchParams(asked));
}
