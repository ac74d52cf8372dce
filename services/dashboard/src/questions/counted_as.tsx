import type { VNode } from 'preact';
import { OUR_NAMES } from '#pipelines/analytics/event_names.ts';

/** The name under which questions count an event that was sent under another; nothing where it is the same. */
export function CountedAs({ event }: { event: string }): VNode | null {
  const name = OUR_NAMES.get(event);
  return name === undefined ? null : <span class="muted small"> counted as {name}</span>;
}
