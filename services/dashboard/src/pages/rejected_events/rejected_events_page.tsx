import { useMemo } from 'preact/hooks';
import { WARNING_KINDS, type WarningKind } from '#pipelines/ingestion_warnings/warnings.ts';
import type { RejectionSampleItem, RejectionsItem } from '#services/control_api/operations.ts';
import { request, sitePath } from '../../api/request.ts';
import { useQuery } from '../../api/use_answer.ts';
import type { Series } from '../../charts/chart_table.tsx';
import { TimeSeries } from '../../charts/time_series.tsx';
import { dateTime, timeZone } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { dayIn, dayStart, type Period, readPeriod } from '../../period.ts';
import { currentLocation } from '../../router.ts';
import { type Column, codeColumn, DataTable, numberColumn, stateColumn } from '../../ui/data_table.tsx';
import { type BadgeKind, Empty, Panel, Shown } from '../../ui/panel.tsx';

const EVERY_MS = 30_000;

export default function RejectionsPage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  const nowMs = Date.now();
  const period = readPeriod(currentLocation.value.query, nowMs);
  const asked = useQuery(
    `${siteId} ${period.from} ${period.lastDay}`,
    (signal) => {
      const query = { ...keptPart(period, Date.now()), interval: 'hour' };
      return request<RejectionsItem>('GET', sitePath(siteId, 'refusals'), { query, signal });
    },
    EVERY_MS,
  );
  return (
    <Shown asked={asked} lines={10}>
      {(rejections) => <RejectionsView siteId={siteId} rejections={rejections} period={period} />}
    </Shown>
  );
}

interface ViewProps {
  siteId: string;
  rejections: RejectionsItem;
  period: Period;
}

function RejectionsView({ siteId, rejections, period }: ViewProps) {
  if (rejections.totals.length === 0) return <NothingFound rejections={rejections} />;
  return (
    <div class="stack">
      <Panel title="By reason" note={<KnownSince rejections={rejections} />}>
        <DataTable
          caption="Rejected events by reason"
          columns={COLUMNS}
          rows={rejections.totals}
          keyOf={({ kind, code }) => `${kind} ${code}`}
          csvName={`rejected-events-${siteId}`}
        />
      </Panel>
      <RejectionsChart rejections={rejections} interval={period.interval === 'hour' ? 'hour' : 'day'} />
      <RejectionSamples siteId={siteId} samples={rejections.samples} />
    </div>
  );
}

/** That nothing was found is good only where it was looked for. */
function NothingFound({ rejections }: Pick<ViewProps, 'rejections'>) {
  if (rejections.from >= rejections.to) return <Empty title="Rejected events are kept for 7 days" />;
  if (rejections.known_since === null) return <Empty title="No data yet" />;
  return (
    <Empty title="No rejected events in this period">
      <KnownSince rejections={rejections} />
    </Empty>
  );
}

function KnownSince({ rejections: { known_since, from } }: Pick<ViewProps, 'rejections'>) {
  const since = dateTime(Math.max(known_since ?? from, from));
  return <>Events and whole requests since {since}. They are kept for 7 days.</>;
}

function RejectionsChart({ rejections, interval }: { rejections: RejectionsItem; interval: 'hour' | 'day' }) {
  const zone = timeZone();
  const { starts, series } = useMemo(() => rejectionChart(rejections, interval, zone), [rejections, interval, zone]);
  return (
    <Panel title={`Over time, by ${interval}`}>
      <div class="chart-room">
        <TimeSeries
          title={`Rejected events by ${interval}`}
          starts={starts}
          interval={interval}
          timeZone={zone}
          series={series}
        />
      </div>
    </Panel>
  );
}

type Total = RejectionsItem['totals'][number];

const COLUMNS: readonly Column<Total>[] = [
  stateColumn('kind', 'Kind', ({ kind }) => ({ label: KINDS[kind].counted, badge: KINDS[kind].badge })),
  codeColumn('code', 'Reason', ({ code }) => code),
  numberColumn('count', 'Count', ({ count }) => count),
  {
    ...{ id: 'text', title: 'Explanation', value: ({ code }) => reasonText(code) },
    cell: ({ code }) => <span class="wraps">{reasonText(code)}</span>,
  },
];

interface SamplesProps {
  siteId: string;
  /** Null: they are not for the role of who looks. */
  samples: readonly RejectionSampleItem[] | null;
}

/** Some of what was not accepted: names alone, which strangers chose. */
const RejectionSamples = ({ siteId, samples }: SamplesProps) => (
  <Panel
    title="Samples"
    note="The newest of each reason, at most 100. Names are cleaned of e-mail addresses and phone numbers; values are not kept."
  >
    {samples === null ? (
      <p class="muted">Your role cannot see samples.</p>
    ) : (
      <DataTable
        caption="Samples of rejected events"
        columns={SAMPLE_COLUMNS}
        rows={samples.map((sample, place) => ({ ...sample, place }))}
        keyOf={({ at, place }) => `${at} ${place}`}
        csvName={`rejected-event-samples-${siteId}`}
        emptyText="No samples in this period"
      />
    )}
  </Panel>
);

type Row = RejectionSampleItem & { place: number };

const SAMPLE_COLUMNS: readonly Column<Row>[] = [
  { id: 'at', title: 'When', value: ({ at }) => new Date(at).toISOString(), cell: ({ at }) => dateTime(at) },
  stateColumn('kind', 'Kind', ({ kind }) => KINDS[kind]),
  codeColumn('code', 'Reason', ({ code }) => code),
  { id: 'event', title: 'Event', value: ({ event }) => event, cell: ({ event }) => event ?? '–' },
  { id: 'index', title: 'Index', align: 'end', value: ({ index }) => index, cell: ({ index }) => index ?? '–' },
  {
    ...{ id: 'key', title: 'Key', value: keyName },
    cell: (row) => (row.key === null ? '–' : <span class="mono">{keyName(row)}</span>),
  },
  { id: 'caller', title: 'Source', value: ({ caller }) => caller, cell: ({ caller }) => caller ?? '–' },
  {
    ...{ id: 'fields', title: 'Fields', value: ({ fields }) => fields.join(' ') },
    cell: ({ fields }) => <span class="wraps">{fields.length === 0 ? '–' : fields.join(', ')}</span>,
  },
];

function keyName({ key }: Row): string | null {
  return key === null ? null : (key.shown_prefix ?? key.key_id);
}

export const KINDS: Readonly<Record<WarningKind, { label: string; counted: string; badge: BadgeKind }>> = {
  rejected: { label: 'Rejected', counted: 'Rejected events', badge: 'bad' },
  dropped: { label: 'Dropped', counted: 'Dropped events', badge: 'plain' },
  refused: { label: 'Refused', counted: 'Refused requests', badge: 'warn' },
  warned: { label: 'Warning', counted: 'Warnings of accepted events', badge: 'warn' },
  historical: { label: 'Of the past', counted: 'Rejected events of the past', badge: 'plain' },
};

const SHAPE = 'The body does not have the form of its route: correct what sends it.';
const ELEMENTS = 'A report of what is on a page is malformed: only the tag should send these.';
const COMPRESSION = 'The body is not compressed as Content-Encoding says: use gzip, deflate, br, zstd or nothing.';

export const REASON_TEXTS: Readonly<Record<string, string>> = {
  // Events that are malformed.
  event_not_object: 'An event was not a JSON object: send each event as an object in the list events.',
  event_server_only:
    'A browser key sent an event that the site takes of server keys only: send it from the server, or take its name off server_only_events.',
  event_name_missing: 'An event had no name: send one as event; the fields of the samples show what came instead.',
  event_name_invalid: 'A name was not text, or held control characters: send plain text as event.',
  event_name_too_long: 'A name had more than 200 characters: put what varies into a property instead.',
  uuid_invalid: 'A uuid was not text of 1 to 200 characters: send the same text whenever the event is sent again.',
  distinct_id_invalid: 'A distinct_id was not text of 1 to 200 characters: send ids as text, or leave it out.',
  distinct_id_missing:
    'A historical event named nobody: send distinct_id, an e-mail address, a phone number or an external_id.',
  timestamp_invalid:
    'A timestamp could not be read: send 2027-01-31T08:00:00Z, or leave it out. With a warning it counts as of its arrival.',
  timestamp_too_old:
    'A timestamp was more than two years ago: check the clock of what sends it. With a warning it counts as of its arrival.',
  timestamp_missing: 'A historical event had no timestamp: send when it happened.',
  timestamp_not_kept: 'An event is older than the site keeps events: raise the retention of the site, or leave it out.',
  properties_not_object: 'properties was not a JSON object: send an object, or leave it out.',
  properties_too_deep: 'properties was nested more than 16 levels deep: send a flatter object.',
  properties_too_many: 'properties held more than 5,000 values: send less, or several events.',
  property_name_too_long: 'A property name had more than 200 characters: put what varies into the value.',
  action_source_unknown: '$action_source was none of the six values: send website, physical_store or another of them.',
  call_type_unknown:
    'A call of a Segment library was of an unknown type: send track, identify, page, screen, group or alias.',
  call_too_large: 'A call exceeded 32 KiB: send less in its properties.',
  // Sound events that do not count.
  bot: 'A bot sent it: nothing to do, unless it is your own program, which should use a server key.',
  prefetch: 'A browser prefetched the page: nothing to do.',
  blocked: 'A block rule of the site matched: look at the rules if these should count.',
  quota: 'The allowance of the month and its grace are used up: raise the allowance of the account.',
  // Events that were accepted.
  placeholder_id:
    'An id, address or number was a placeholder, as undefined, and was left out: send none where none is known.',
  id_too_long:
    'An id had more than 200 characters, or control characters, and became a hash: send a shorter one, and no token.',
  timestamp_ahead:
    'A timestamp was over a day ahead: the arrival counts, but a historical event is refused; check the clock, or send sent_at.',
  uuid_missing:
    'An event had no uuid, visitor or order and no exact time; sent again it counts twice: give each event a uuid.',
  uuid_reused:
    'Events of two names had one uuid, of which one counts: give each event a uuid of its own, as its name and the order.',
  // Whole requests.
  origin_not_allowed:
    'A page of an origin that its key does not allow sent it: add the origin to the key if the page is yours.',
  key_not_for_browsers:
    'A page sent a server key, which is public there: rotate the key, and use a browser key on pages.',
  key_invalid:
    'An unknown key came from a page of your domains or origins, or began as one of yours: compare the snippet with the active browser keys.',
  key_revoked: 'It came with a revoked key: put a new key where the old one is still in use.',
  key_expired: 'It came with an expired key: issue a new one, or change when it expires.',
  server_key_required: 'The route takes a server key only: send one from a server, never from a page.',
  historical_refused:
    'Historical events came with a browser key, or for a site in offline mode: use a server key of an online site.',
  browser_key_missing: 'The site has no active browser key, under which hits without a key are taken: issue one.',
  measurement_ids_mixed: 'Hits of several sites came in one request: send those of each site apart.',
  measurement_id_unproven:
    'GA4 hits came without a key from pages that nothing shows to be of the site: verify a domain, or list the origin for a browser key.',
  measurement_id_unknown: 'The account of the site is not there any more: look at the settings of the site.',
  pixel_unknown:
    'A hit named a pixel that the site does not have: compare the ids on the page with those of the destinations.',
  client_id_missing: 'A request of the Measurement Protocol had no client_id: send one.',
  rate_limited:
    'Its address or its key sent too many requests: send more events in each, or raise the limit of the key.',
  body_too_large: 'The body was larger than its route takes: send fewer events in each request.',
  events_too_many: 'A request held more events than it may: send at most 50 in each.',
  calls_too_many: 'A batch held more than 2,500 calls: send smaller batches.',
  hit_too_large: 'A hit had more than 65,536 characters or 1,000 keys: send less in it.',
  parameters_too_many: 'An event of GA4 had too many parameters: send less in each.',
  elements_too_many:
    'A report of what is on a page held more than 300 elements: nothing to do, unless you send them yourself.',
  content_type_unsupported: 'The content type was not one that its route takes: send application/json.',
  compression_unsupported: 'An old library of PostHog sent its events packed as lz64: update the library.',
  content_encoding_unsupported: COMPRESSION,
  body_undecodable: COMPRESSION,
  body_not_json: 'The body was not JSON in UTF-8: check how it is written, and that it was not cut off.',
  historical_migration_invalid: 'historical_migration was neither true nor false: send one of them, or leave it out.',
  body_too_complex: 'The body was nested too deeply or held too many values: send less in each request.',
  request_malformed:
    'The request could not be read, often as its connection broke: look at proxies on the way if it lasts.',
  body_not_object: SHAPE,
  body_not_calls: SHAPE,
  events_missing: 'The body had no list events: send {"events": [...]}.',
  events_not_array: 'events was not a list: send {"events": [...]}.',
  events_empty: 'events was empty: send nothing where there is nothing to send.',
  inventory_not_object: ELEMENTS,
  page_invalid: ELEMENTS,
  url_invalid: ELEMENTS,
  title_invalid: ELEMENTS,
  elements_invalid: ELEMENTS,
  element_invalid: ELEMENTS,
  engage_unknown: 'It was for a survey, banner or form that the site does not have: look for pages that still name it.',
  engage_invalid: 'A request for surveys, banners or forms was malformed: correct what sends it, if it is not the tag.',
  form_invalid:
    'Somebody filled in a form in a way that its fields do not take: look at the fields if it happens often.',
  overloaded: 'The edge had too much waiting: clients send the same again; add edges if it lasts.',
  not_acknowledged: 'Kafka did not confirm in time: clients send the same again; look at Kafka if it lasts.',
};

/** What a reason means and what to do; of one that a newer service has, where that is said. */
export const reasonText = (code: string): string =>
  Object.hasOwn(REASON_TEXTS, code) ? (REASON_TEXTS[code] ?? '') : 'See docs/errors.md.';

const HOUR_MS = 3_600_000;
/** Longest time that is kept, and so drawn. */
const KEPT_MS = 7 * 24 * HOUR_MS;

interface RejectionChart {
  starts: number[];
  interval: 'hour' | 'day';
  series: Series[];
}

/** What of a period is kept: it ends now at the latest, and begins no longer ago than is kept. */
export const keptPart = ({ from, to }: { from: number; to: number }, nowMs: number): { from: number; to: number } => ({
  from: Math.max(from, nowMs - KEPT_MS),
  to,
});

/** A line for each kind, by hour where that is asked for, else by day of a zone, which hours of the answer are summed to. */
export function rejectionChart(
  { counts, from, to }: Pick<RejectionsItem, 'counts' | 'from' | 'to'>,
  interval: 'hour' | 'day',
  timeZone: string,
): RejectionChart {
  const startOf = interval === 'hour' ? hourStart : (ms: number) => startOfDay(timeZone, ms);
  const starts: number[] = [];
  for (let at = Math.floor(from / HOUR_MS) * HOUR_MS; at < to; at += HOUR_MS) {
    const start = startOf(at);
    if (starts.at(-1) !== start) starts.push(start);
  }
  const places = new Map(starts.map((start, place) => [start, place]));
  const values = new Map<WarningKind, number[]>(WARNING_KINDS.map((kind) => [kind, starts.map(() => 0)]));
  for (const { at, kind, count } of counts) {
    const place = places.get(startOf(at));
    const line = values.get(kind);
    if (place !== undefined && line !== undefined) line[place] = (line[place] ?? 0) + count;
  }
  // Few sites ever bring in a past.
  const shown = WARNING_KINDS.filter((kind) => kind !== 'historical' || values.get(kind)?.some((count) => count > 0));
  return {
    starts,
    interval,
    series: shown.map((kind) => ({ name: KINDS[kind].counted, values: values.get(kind) ?? [] })),
  };
}

const hourStart = (ms: number): number => Math.floor(ms / HOUR_MS) * HOUR_MS;

const startOfDay = (timeZone: string, ms: number): number => dayStart(timeZone, ...dayIn(timeZone, ms));
