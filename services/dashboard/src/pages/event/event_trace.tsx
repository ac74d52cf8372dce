import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { OUR_NAMES } from '#pipelines/analytics/event_names.ts';
import type { EventTrace } from '#pipelines/analytics/event_trace/answer.ts';
import { queryPath } from '../../api/request.ts';
import { useGet } from '../../api/use_answer.ts';
import { dateTime, isSearched, number } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { addressOf } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { CopyButton, LinkWhere, personAddress, siteAddress } from '../../ui/identifiers.tsx';
import { Facts, Shown, StateBadge, type StateLook } from '../../ui/panel.tsx';
import { destinationTitle } from '../destinations/destination_rows.ts';
import type { Kind } from '../destinations/setting_form.ts';

const HeadingLevel = createContext<'h2' | 'h3'>('h2');

/** An event that is on its way changes: it is asked for again so often. */
const EVERY_MS = 5_000;

export default function EventPage({ params }: PageProps) {
  return <EventTraceView siteId={params['site'] ?? ''} eventId={params['event'] ?? ''} />;
}

interface EventWayProps {
  siteId: string;
  eventId: string;
  /** Level of the headings: below that of what it stands in. */
  heading?: 'h2' | 'h3';
}

/** What became of an event: accepted, a duplicate or not, whose it is, its row, and what each destination said. */
export function EventTraceView({ siteId, eventId, heading = 'h2' }: EventWayProps) {
  const path = queryPath(siteId, 'events', eventId);
  const asked = useGet<EventTrace>(path, {}, EVERY_MS);
  return (
    <div class="stack">
      <p class="event-id">
        <span class="mono wraps">{eventId}</span>
        <CopyButton text={eventId} what="event id" />
      </p>
      <Shown asked={asked} lines={12}>
        {(trace) => (
          <HeadingLevel.Provider value={heading}>
            <Way siteId={siteId} trace={trace} />
          </HeadingLevel.Provider>
        )}
      </Shown>
    </div>
  );
}

function Way({ siteId, trace }: { siteId: string; trace: EventTrace }) {
  const { accepted, duplicates, person, row, rows_stored, destinations, dead_letters } = trace;
  const kinds = useGet<{ items: Kind[] }>('/v1/admin/destination-kinds');
  return (
    <ol class="way">
      <TraceStep title="Accepted" state={accepted === null ? 'open' : 'good'}>
        {accepted === null ? <p>No row is stored.</p> : <Accepted siteId={siteId} accepted={accepted} />}
      </TraceStep>
      <TraceStep title="Duplicates" state={duplicates.seen === 0 ? 'good' : 'warn'}>
        <Duplicates siteId={siteId} duplicates={duplicates} />
      </TraceStep>
      {(dead_letters ?? []).map((deadLetter) => (
        <TraceStep
          key={deadLetter.id}
          title={`Dead letter of ${deadLetter.stage}`}
          state={deadLetter.resent_at === null ? 'bad' : 'warn'}
        >
          <p>
            <code>{deadLetter.reason}</code> since {dateTime(deadLetter.died_at)}
            {deadLetter.resent_at !== null && `, resent ${dateTime(deadLetter.resent_at)}`}
          </p>
          <p class="mono small wraps">
            <LinkWhere isAllowed={mayAt('dead_letters.read', siteId)} href={deadLetterAddress(deadLetter.id)}>
              {deadLetter.id}
            </LinkWhere>
          </p>
        </TraceStep>
      ))}
      <TraceStep title="Person" state={person === null ? 'open' : 'good'}>
        {person === null ? (
          <p class="muted">Unknown until its row is stored.</p>
        ) : (
          <Person siteId={siteId} person={person} />
        )}
      </TraceStep>
      <TraceStep title="Row" state={row === null ? 'open' : 'good'}>
        {rows_stored > 1 && (
          <p>Stored in {number(rows_stored)} rows, as it was sent again after its id expired. Queries count one.</p>
        )}
        {row === null ? <p class="muted">Not stored.</p> : <EventProperties siteId={siteId} row={row} />}
      </TraceStep>
      {destinations.map((destination) => (
        <TraceStep
          key={destination.destination}
          title={destinationTitle(destination.destination, kinds.value?.items ?? [])}
          state={STATES[destination.state].step}
        >
          <DestinationSteps siteId={siteId} destination={destination} />
        </TraceStep>
      ))}
      {destinations.length === 0 && (
        <TraceStep title="Destinations" state="open">
          <p class="muted">No destinations configured.</p>
        </TraceStep>
      )}
    </ol>
  );
}

const deadLetterAddress = (id: string): string =>
  addressOf('/dead-letters', new URLSearchParams({ state: 'all', letter: id }));

type OfSite<Props> = Props & { siteId: string };

type StepState = 'good' | 'warn' | 'bad' | 'open';
type Destination = EventTrace['destinations'][number];

const STATES: Readonly<Record<Destination['state'], StateLook & { step: StepState }>> = {
  delivered: { label: 'Delivered', step: 'good', badge: 'good' },
  waiting: { label: 'Waiting for a retry', step: 'warn', badge: 'warn' },
  dead: { label: 'Failed', step: 'bad', badge: 'bad' },
  skipped: { label: 'Skipped', step: 'open', badge: 'plain' },
  not_attempted: { label: 'Not attempted', step: 'open', badge: 'plain' },
};

interface TraceStepProps {
  title: string;
  state: StepState;
  children: ComponentChildren;
}

function TraceStep({ title, state, children }: TraceStepProps) {
  const Heading = useContext(HeadingLevel);
  return (
    <li class={`station station-${state}`}>
      <Heading>{title}</Heading>
      {children}
    </li>
  );
}

function KeyLink({ siteId, known: key }: { siteId: string; known: NonNullable<EventTrace['accepted']>['key'] }) {
  if (key === null) return <>an unknown key</>;
  if (key.shown_prefix === null) return <>a deleted key, {key.key_id}…</>;
  return (
    <LinkWhere isAllowed={mayAt('keys.read', siteId)} href={siteAddress(siteId, 'keys', { key: key.key_id })}>
      {key.shown_prefix}…{key.label === null || key.label === '' ? '' : ` (${key.label})`}
    </LinkWhere>
  );
}

function Accepted({ siteId, accepted }: OfSite<{ accepted: NonNullable<EventTrace['accepted']> }>) {
  const { partition, offset, index } = accepted.coordinate;
  return (
    <>
      <p>
        {dateTime(accepted.received_at)} with the {accepted.caller} key{' '}
        <span class="mono wraps">
          <KeyLink siteId={siteId} known={accepted.key} />
        </span>
      </p>
      {offset >= 0 && (
        <p class="muted small">
          events.raw {partition}/{offset}, event {index}
        </p>
      )}
    </>
  );
}

function Duplicates({ siteId, duplicates }: OfSite<{ duplicates: EventTrace['duplicates'] }>) {
  if (duplicates.seen === 0) return <p>None.</p>;
  return (
    <>
      <p>{duplicates.seen === 1 ? 'One duplicate was' : `${number(duplicates.seen)} duplicates were`} dropped.</p>
      <ul class="small">
        {duplicates.copies.map(({ received_at, key, times, coordinate }) => (
          <li key={`${coordinate.partition}/${coordinate.offset}/${coordinate.index}`}>
            {dateTime(received_at)} with{' '}
            <span class="mono wraps">
              <KeyLink siteId={siteId} known={key} />
            </span>
            {times > 1 && `, ${number(times)} times`}
          </li>
        ))}
      </ul>
    </>
  );
}

function Person({ siteId, person }: OfSite<{ person: NonNullable<EventTrace['person']> }>) {
  const { person_id, distinct_person_id, links, identified_by } = person;
  const link = links.find((one) => one.person_id === distinct_person_id) ?? links[0];
  return (
    <>
      <p class="mono wraps">
        <LinkWhere isAllowed={mayAt('query.persons', siteId)} href={personAddress(siteId, person_id)}>
          {person_id}
        </LinkWhere>
      </p>
      {person_id === distinct_person_id ? (
        <p class="muted small">Identified by its distinct id alone.</p>
      ) : (
        <p class="muted small">
          {link === undefined
            ? 'No merge is known yet.'
            : `The person of its distinct id was merged into this one ${dateTime(link.since)}.`}
        </p>
      )}
      {(identified_by ?? []).map(({ identifier, digest_begin, since }) => (
        <p class="muted small" key={identifier + digest_begin}>
          First identified by {identifier.replace('_', ' ')} ({identifier === 'phone' ? 'keyed hash' : 'SHA-256'}{' '}
          {digest_begin}…) {dateTime(since)}
        </p>
      ))}
    </>
  );
}

function DestinationSteps({ siteId, destination: item }: { siteId: string; destination: Destination }) {
  const { destination, state, reason, attempts } = item;
  return (
    <>
      {mayAt('destinations.read', siteId) && (
        <p class="small">
          <a href={siteAddress(siteId, 'destinations', { destination })}>Open destination</a>
        </p>
      )}
      <p class="row">
        <StateBadge of={STATES[state]} />
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

type Row = NonNullable<EventTrace['row']>;

/** What a row says, its properties as they are stored. What is empty is left out. */
function EventProperties({ siteId, row }: { siteId: string; row: Row }) {
  const maySearch = mayAt('query.persons', siteId);
  const properties = JSON.stringify(row.properties, null, 2);
  const facts = factsOf(row).filter(([, text]) => text !== '');
  return (
    <>
      <Facts
        facts={facts.map(([name, text]) => [
          name,
          <LinkWhere isAllowed={maySearch && isSearched(name, text)} href={siteAddress(siteId, 'people', { id: text })}>
            {text}
          </LinkWhere>,
        ])}
      />
      <details>
        <summary>Properties</summary>
        <div class="row">
          <CopyButton text={properties} what="properties" />
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
        <pre class="block" tabIndex={0}>
          {properties}
        </pre>
      </details>
    </>
  );
}

function factsOf(row: Row): [name: string, text: string][] {
  const { original_timestamp: sent, identifiers } = row;
  return [
    ['Event', row.event],
    ['Counted as', OUR_NAMES.get(row.event) ?? ''],
    ['Time', dateTime(row.timestamp) + (sent === null ? '' : ` (sent as ${sent})`)],
    ['Distinct id', row.distinct_id],
    ['Source', row.action_source],
    ['Mode', row.mode],
    ['Value', row.value === null ? '' : `${row.value} ${row.currency}`],
    ['Order id', row.order_id],
    ['Identifies', row.identify ? 'yes: its identifiers may merge people' : ''],
    ...Object.entries(identifiers).map(([name, begin]): [string, string] => [name, `SHA-256 ${begin}…`]),
    ['Location as sent', listed(row.zip, row.city, row.state, row.country)],
    ['IP address', row.client_ip],
    ['Place of the address', listed(row.geo_city, row.geo_region, row.geo_country)],
    ['Browser', `${row.browser} ${row.browser_version}`.trim()],
    ['Device', listed(row.device_type, `${row.os} ${row.os_version}`.trim(), row.screen_class, row.language)],
    ['User agent', row.client_user_agent],
  ];
}

const listed = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join(', ');
