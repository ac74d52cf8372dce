import type { VNode } from 'preact';
import type { KeyItem } from '#services/control_api/sites.ts';
import { dateTime } from '../../format.ts';
import { Badge, type BadgeKind } from '../../ui/badge.tsx';

/** What the states of keys are called, and how they look. */
export const STATES: Readonly<Record<KeyItem['state'], { label: string; badge: BadgeKind }>> = {
  active: { label: 'Active', badge: 'good' },
  expired: { label: 'Expired', badge: 'plain' },
  revoked: { label: 'Revoked', badge: 'bad' },
};

/** Whether a key works, and until when. */
export function KeyState({ item }: { item: KeyItem }): VNode {
  const { state, expires_at } = item;
  return (
    <>
      <Badge kind={STATES[state].badge}>{STATES[state].label}</Badge>
      {state === 'active' && expires_at !== null && <span class="muted small"> until {dateTime(expires_at)}</span>}
    </>
  );
}

/** Where a key may be used, in a few words. */
export function originsOf({ caller, allowed_origins: origins }: KeyItem): string {
  if (caller === 'server') return 'Anywhere but browsers';
  const [first] = origins;
  if (first === undefined) return 'Every page';
  return origins.length === 1 ? first : `${first} and ${origins.length - 1} more`;
}
