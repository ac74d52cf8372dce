import type { ComponentChildren, VNode } from 'preact';

interface LinkWhereProps {
  /** Whether whoever looks may see what is there. */
  isAllowed: boolean;
  href: string;
  children: ComponentChildren;
}

/** A link for those who may follow it, and the same words for the others. */
export function LinkWhere({ isAllowed, href, children }: LinkWhereProps): VNode {
  return isAllowed ? <a href={href}>{children}</a> : <span>{children}</span>;
}
