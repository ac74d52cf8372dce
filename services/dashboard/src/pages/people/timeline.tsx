import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import { money, timeOfDay } from '../../format.ts';
import { CountedAs } from '../../questions/counted_as.tsx';
import { addressOf } from '../../router.ts';
import { pageText } from './person_facts.ts';

type ListedEvent = Listing['events'][number];

const SHOWN = 100;
const day = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });

interface TimelineProps {
  siteId: string;
  events: readonly ListedEvent[];
}

/** What a person did, newest first, by day. */
export function Timeline({ siteId, events }: TimelineProps): VNode {
  const [shown, setShown] = useState(SHOWN);
  const days = Map.groupBy(events.slice(0, shown), ({ timestamp }) => day.format(timestamp));
  return (
    <div class="timeline">
      {[...days].map(([name, some]) => (
        <section key={name} aria-label={name}>
          <h3>{name}</h3>
          <ol>
            {some.map((event) => (
              <TimelineEvent key={event.event_id} siteId={siteId} event={event} />
            ))}
          </ol>
        </section>
      ))}
      {events.length > shown && (
        <button type="button" class="button" onClick={() => setShown(shown + SHOWN)}>
          Show {Math.min(SHOWN, events.length - shown)} more
        </button>
      )}
    </div>
  );
}

function TimelineEvent({ siteId, event }: { siteId: string; event: ListedEvent }): VNode {
  const { event_id, timestamp, value, currency, action_source, distinct_id, properties } = event;
  const page = pageText(properties);
  const address = addressOf(`/sites/${encodeURIComponent(siteId)}/events/${encodeURIComponent(event_id)}`);
  return (
    <li class="timeline-event">
      <span class="muted timeline-time">{timeOfDay(timestamp)}</span>
      <div class="timeline-body">
        <span class="row">
          <a class="strong wraps" href={address}>
            {event.event}
          </a>
          <CountedAs event={event.event} />
          {value !== null && <span class="badge">{money(value, currency)}</span>}
          <span class="muted small">{action_source}</span>
          <span class="muted small cut">{distinct_id}</span>
        </span>
        {page !== '' && <span class="muted small wraps">{page}</span>}
        {Object.keys(properties).length > 0 && (
          <details>
            <summary class="small">Properties</summary>
            <pre class="block">{JSON.stringify(properties, null, 2)}</pre>
          </details>
        )}
      </div>
    </li>
  );
}
