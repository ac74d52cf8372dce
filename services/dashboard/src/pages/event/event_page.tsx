import type { VNode } from 'preact';
import type { PageProps } from '../../page_spec.ts';
import { EventTraceView } from './event_trace.tsx';

export default function EventPage({ params }: PageProps): VNode {
  return <EventTraceView siteId={params['site'] ?? ''} eventId={params['event'] ?? ''} />;
}
