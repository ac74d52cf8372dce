import type { ComponentChildren, VNode } from 'preact';

export type BadgeKind = 'plain' | 'good' | 'warn' | 'bad';

/** A state in a word; its colour says no more than the word does. */
export function Badge({ kind = 'plain', children }: { kind?: BadgeKind; children: ComponentChildren }): VNode {
  return <span class={kind === 'plain' ? 'badge' : `badge badge-${kind}`}>{children}</span>;
}
