import type { ComponentChildren, VNode } from 'preact';
import { addressOf } from '../router.ts';
import { mayAt } from '../who.ts';

interface EventLinkProps {
  siteId: string;
  eventId: string;
  children: ComponentChildren;
}

/** A link to what became of an event; only its text for who may not see single events of the site. */
export function EventLink({ siteId, eventId, children }: EventLinkProps): VNode {
  if (!mayAt('query.events', siteId)) return <>{children}</>;
  const address = addressOf(`/sites/${encodeURIComponent(siteId)}/events/${encodeURIComponent(eventId)}`);
  return <a href={address}>{children}</a>;
}
