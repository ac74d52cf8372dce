import type { VNode } from 'preact';
import type { EventTrace } from '#pipelines/analytics/event_trace/answer.ts';
import { dateTime, number } from '../../format.ts';
import { siteAddress } from '../../site_address.ts';
import { mayAt } from '../../who.ts';

type Destination = EventTrace['destinations'][number];

const WORDS: Readonly<Record<Destination['state'], string>> = {
  delivered: 'Delivered',
  waiting: 'Waits for another attempt',
  dead: 'Failed',
  skipped: 'Skipped',
  not_attempted: 'Not attempted',
};
const BADGES: Readonly<Record<Destination['state'], string>> = {
  delivered: 'badge-good',
  waiting: 'badge-warn',
  dead: 'badge-bad',
  skipped: '',
  not_attempted: '',
};

/** What a destination did with an event, attempt by attempt, with the answers of its platform. */
export function DestinationWay({ siteId, destination: item }: { siteId: string; destination: Destination }): VNode {
  const { destination, state, reason, attempts } = item;
  return (
    <>
      {mayAt('destinations.read', siteId) && (
        <p class="small">
          <a href={siteAddress(siteId, 'destinations', { destination })}>Open the destination</a>
        </p>
      )}
      <p class="row">
        <span class={`badge ${BADGES[state]}`}>{WORDS[state]}</span>
        {reason !== '' && <code>{reason}</code>}
      </p>
      {attempts.length > 0 && (
        <ol class="attempts">
          {attempts.map((attempt) => (
            <li key={`${attempt.attempt} ${attempt.attempted_at}`}>
              <p class="small">
                <span class="strong">{attempt.attempt}</span> · {dateTime(attempt.attempted_at)} · {attempt.outcome}
                {attempt.reason !== '' && ` (${attempt.reason})`}
                {attempt.took_ms > 0 && ` · ${number(attempt.took_ms)} ms`}
              </p>
              {attempt.answer !== null && (
                <pre class="block small">{`HTTP ${attempt.answer.status}\n${attempt.answer.body}`}</pre>
              )}
            </li>
          ))}
        </ol>
      )}
    </>
  );
}
