import type { AttemptItem } from '#services/control_api/destinations.ts';
import type { BadgeKind } from '../../ui/badge.tsx';

/** What came of an attempt, in words. */
export const attemptOutcomes: Readonly<Record<AttemptItem['outcome'], { label: string; badge: BadgeKind }>> = {
  delivered: { label: 'Delivered', badge: 'good' },
  diverted: { label: 'In retry', badge: 'warn' },
  paused: { label: 'Waits', badge: 'warn' },
  dead: { label: 'Failed', badge: 'bad' },
  skipped: { label: 'Skipped', badge: 'plain' },
};

/** What the platform answered, in a line. */
export function attemptAnswer({ answer }: Pick<AttemptItem, 'answer'>): string {
  return answer === null ? 'None' : `${answer.status} ${answer.body}`.trim();
}
