import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, ask } from '../../api/request.ts';
import { poll, useQuery } from '../../api/use_answer.ts';
import { dateTime, money, timeOfDay } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { Button } from '../../ui/button.tsx';
import { Combobox } from '../../ui/combobox.tsx';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { submitHandler, TextField, textFields } from '../../ui/form_fields.tsx';
import { CanonicalName, eventAddress, ShortId } from '../../ui/identifiers.tsx';
import { Empty, FailureNote, Loading } from '../../ui/panel.tsx';
import { EventTraceView } from '../event/event_trace.tsx';
import * as live from './live_events.ts';

const EVERY_MS = 1_000;
const OPEN = 'open';

export default function LivePage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  const filters = live.readFilters(currentLocation.value.query);
  const opened = currentLocation.value.query.get(OPEN);
  const [isPaused, setPaused] = useState(false);
  const asked = JSON.stringify(filters);
  const { ring, failure, isAsked } = useRing(siteId, asked, isPaused);
  const { older, ...further } = live.useOlder(siteId, filters, ring, `${siteId} ${asked} ${isPaused}`);
  const failed = failure ?? further.failure;
  const events = isPaused ? [...ring.events, ...older.events] : ring.events;
  return (
    <div class="stack">
      <FilterBar key={siteId} siteId={siteId} filters={filters} />
      <div class="row live-bar">
        <Button
          icon={isPaused ? 'play' : 'pause'}
          label={isPaused ? 'Resume' : 'Pause'}
          aria-pressed={isPaused}
          onClick={() => setPaused(!isPaused)}
        />
        <LiveCount ring={ring} older={isPaused ? older.events.length : 0} isPaused={isPaused} />
      </div>
      <FailureNote failure={failed} />
      {events.length > 0 ? (
        <DataTable
          caption="Newest events"
          columns={COLUMNS}
          rows={events}
          keyOf={({ event_id }) => event_id}
          csvName={`live-${siteId}`}
          onRow={({ event_id }) => setQuery({ [OPEN]: event_id }, 'push')}
        />
      ) : (
        <Waiting isAsked={isAsked} />
      )}
      {isPaused && isAsked && (
        <div class="row">
          <Button label="Show older" disabled={further.asks} onClick={further.load} />
          {older.readTo !== null && <span class="muted small">Loaded back to {dateTime(older.readTo)}.</span>}
        </div>
      )}
      {opened !== null && (
        <Dialog title="Event trace" kind="side" onClose={() => setQuery({ [OPEN]: null })}>
          <p>
            <a class="button small" href={eventAddress(siteId, opened)}>
              Open full page
            </a>
          </p>
          <EventTraceView siteId={siteId} eventId={opened} heading="h3" />
        </Dialog>
      )}
    </div>
  );
}

function Waiting({ isAsked }: { isAsked: boolean }) {
  if (!isAsked) return <Loading lines={8} />;
  return (
    <Empty title="No matching events in the last 10 minutes">
      New events appear automatically, about two seconds after they are sent.
    </Empty>
  );
}

function LiveCount({ ring, older, isPaused }: { ring: live.Ring; older: number; isPaused: boolean }) {
  const missing = live.notShown(ring, older);
  const rate = ring.rate < 10 ? ring.rate.toFixed(1) : Math.round(ring.rate).toLocaleString('en-GB');
  return (
    <p class="muted">
      <span class="strong">{ring.seen.toLocaleString('en-GB')}</span> received
      {missing !== '' && <span class="badge badge-warn live-missing">{missing}</span>}
      <span class="live-rate">{isPaused ? 'paused' : `${rate} a second`}</span>
    </p>
  );
}

/** The newest events that pass the filters, asked for every second while the page is visible and nobody paused it. */
function useRing(
  siteId: string,
  filters: string,
  isPaused: boolean,
): { ring: live.Ring; failure: ApiError | null; isAsked: boolean } {
  const key = `${siteId} ${filters}`;
  const [state, setState] = useState({ key, ring: live.EMPTY_RING, failure: null as ApiError | null, isAsked: false });
  const known = state.key === key ? state : { ring: live.EMPTY_RING, failure: null, isAsked: false };
  useEffect(() => {
    if (isPaused) return undefined;
    const controller = new AbortController();
    let { ring } = known;
    const once = async (): Promise<void> => {
      const question = live.liveQuestion(
        JSON.parse(filters) as ReturnType<typeof live.readFilters>,
        live.askedAfter(ring, Date.now()),
        live.ANSWER_MAX,
      );
      try {
        const answer = await ask(siteId, 'live', question, controller.signal);
        if (controller.signal.aborted) return;
        if (answer.ok) ring = live.withAnswer(ring, answer.value.events, answer.value.as_of);
        setState({ key, ring, failure: answer.ok ? null : answer.failure, isAsked: true });
      } catch (error) {
        if (!controller.signal.aborted) throw error;
      }
    };
    const stop = poll(once, EVERY_MS);
    return () => {
      stop();
      controller.abort();
    };
  }, [key, isPaused]);
  return known;
}

const COLUMNS: readonly Column<live.ListedEvent>[] = [
  {
    ...{ id: 'received', widthPx: 96, title: 'Arrived' },
    cell: ({ received_at }) => timeOfDay(received_at),
    value: ({ received_at }) => new Date(received_at).toISOString(),
  },
  {
    ...{ id: 'event', widthPx: 168, title: 'Event', value: ({ event }) => event },
    cell: ({ event, event_id }) => (
      <>
        <button type="button" class="figure-link" onClick={() => setQuery({ [OPEN]: event_id }, 'push')}>
          {event}
        </button>
        <CanonicalName event={event} />
      </>
    ),
  },
  { id: 'distinct_id', widthPx: 168, title: 'Distinct id', value: ({ distinct_id }) => distinct_id },
  {
    ...{ id: 'page', widthPx: 240, title: 'Page' },
    value: ({ properties }) => shortAddress(properties['$current_url'] ?? properties['page_location']),
  },
  { id: 'source', widthPx: 96, title: 'Source', value: ({ action_source }) => action_source },
  {
    ...{ id: 'value', widthPx: 112, title: 'Value', align: 'end', value: ({ value }) => value },
    cell: ({ value, currency }) => (value === null ? '' : money(value, currency)),
  },
  {
    ...{ id: 'event_id', widthPx: 160, title: 'Event id', value: ({ event_id }) => event_id },
    cell: ({ event_id }) => <ShortId id={event_id} />,
  },
];

const shortAddress = (value: unknown): string => (typeof value === 'string' ? value.replace(/^https?:\/\//, '') : '');

const NAMES_MAX = 200;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Chooses which events are looked at; the address keeps it. The names of the last day are offered. */
function FilterBar({ siteId, filters }: { siteId: string; filters: live.LiveFilters }) {
  const [typed, setTyped] = useState(filters);
  const applied = useRef(filters);
  // The way back and forward changes them too; what was applied here comes back while more may have been typed.
  useEffect(() => {
    if (JSON.stringify(filters) !== JSON.stringify(applied.current)) setTyped(filters);
    applied.current = filters;
  }, [JSON.stringify(filters)]);
  const field = textFields(typed, (part) => setTyped((now) => ({ ...now, ...part })));
  const names = useQuery(siteId, (signal) => {
    const to = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
    return ask(siteId, 'top', { from: to - DAY_MS, to, field: { column: 'event' }, limit: NAMES_MAX }, signal);
  });
  const options = (names.value?.values ?? []).map(({ value }) => ({ value }));
  const isFiltered = Object.values(filters).some((text) => text !== '');
  const apply = (next: live.LiveFilters): void => {
    setTyped(next);
    applied.current = next;
    setQuery(live.filterParameters(next), 'push');
  };
  return (
    <form class="filter-bar" onSubmit={submitHandler(() => apply(typed))}>
      <Combobox
        label="Event"
        placeholder="Any event"
        takesOthers
        takesFirst
        value={typed.event}
        options={options}
        onValue={(event) => apply({ ...typed, event })}
      />
      <TextField label="Distinct id" placeholder="Any visitor" {...field('distinctId')} />
      {/* People come with it from the key itself: nobody types a hash. */}
      {typed.key !== '' && <TextField label="Key" {...field('key')} />}
      <TextField label="Property" placeholder="cart.size" {...field('property')} />
      <TextField label="Property value" placeholder="Any value" {...field('value')} />
      <Button type="submit" kind="primary" label="Filter" />
      {isFiltered && (
        <Button label="Clear" onClick={() => apply({ event: '', key: '', distinctId: '', property: '', value: '' })} />
      )}
    </form>
  );
}
