import type { VNode } from 'preact';
import { timeZone } from '../period.ts';

/** Says in which zone the intervals of an answer begin, where that is not the zone of whoever looks. */
export function ZoneNote({ zone }: { zone: string }): VNode | null {
  if (zone === timeZone()) return null;
  return <p class="muted small">Days and hours are those of {zone}, as the question asks.</p>;
}
