import { useState } from 'preact/hooks';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { EventTrace } from '#pipelines/analytics/event_trace/answer.ts';
import type { TopAnswer } from '#pipelines/analytics/top.ts';
import type { ErasureItem, PersonExport, PersonFound } from '#services/control_api/persons.ts';
import { type ApiResult, ask, queryPath, request, sitePath } from '../../api/request.ts';
import { useMutation, useQuery } from '../../api/use_answer.ts';
import { dateTime, money, number, timeOfDay, wholeDay } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmAction } from '../../ui/confirm_action.tsx';
import {
  AskedTable,
  asRows,
  type Column,
  DataTable,
  numberColumn,
  saveFile,
  timeColumn,
} from '../../ui/data_table.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { CanonicalName, CopyButton, eventAddress } from '../../ui/identifiers.tsx';
import { Empty, type Fact, Facts, FailureNote, Panel, Shown, Tabs } from '../../ui/panel.tsx';
import { Receipt } from './erasures.tsx';
import { amountText, boughtOf, boughtQuestion, deviceName, lifeRange, ofPerson, pageText } from './people.ts';

const EVENTS_MAX = 1_000;

export default function PersonPage({ params }: PageProps) {
  const [siteId, personId] = [params['site'] ?? '', params['person'] ?? ''];
  const [tab, setTab] = useState('timeline');
  const asked = useQuery(`${siteId} ${personId}`, (signal) =>
    ask(siteId, 'timeline', { ...lifeRange(Date.now()), person_id: personId, limit: EVENTS_MAX }, signal),
  );
  const events = asked.value?.events ?? [];
  // Asked for by an id that became part of another, the events are those of the one it is now.
  const now = events[0]?.person_id ?? personId;
  return (
    <div class="stack">
      <Panel
        title="Person"
        actions={
          <span class="row">
            <CopyButton text={now} what="person id" />
            <PersonDataButton siteId={siteId} personId={now} />
          </span>
        }
      >
        <Shown asked={asked} lines={3}>
          {() =>
            events.length === 0 ? (
              <Empty title="This person has no events">
                It may belong to another site, or its events were removed.
              </Empty>
            ) : (
              <PersonFacts siteId={siteId} personId={personId} now={now} events={events} />
            )
          }
        </Shown>
      </Panel>
      {events.length > 0 && (
        <Panel title="Details">
          <Tabs
            label="Details"
            chosen={tab}
            onChosen={setTab}
            tabs={[
              { id: 'timeline', label: 'Timeline', content: () => <Timeline siteId={siteId} events={events} /> },
              { id: 'devices', label: 'Devices', content: () => <Devices siteId={siteId} personId={now} /> },
              { id: 'merges', label: 'Ids and merges', content: () => <Merges siteId={siteId} events={events} /> },
            ]}
          />
        </Panel>
      )}
    </div>
  );
}

interface PersonFactsProps extends TimelineProps {
  personId: string;
  now: string;
}

function PersonFacts({ siteId, personId, now, events }: PersonFactsProps) {
  const isWhole = events.length < EVENTS_MAX;
  const since = isWhole ? (events.at(-1)?.timestamp ?? 0) : lifeRange(Date.now()).from;
  const asked = useQuery(`${siteId} ${now}`, (signal) =>
    ask(siteId, 'revenue', boughtQuestion(now, since, Date.now()), signal),
  );
  const bought = asked.value === null ? null : boughtOf(asked.value);
  const unknown = asked.failure === null ? '…' : '–';
  return (
    <Facts
      facts={[
        ['Person id', now],
        now !== personId && ['Merged from', personId],
        ['Last seen', dateTime(events[0]?.timestamp ?? 0)],
        [isWhole ? 'First seen' : 'Shown from', dateTime(events.at(-1)?.timestamp ?? 0)],
        ['Events', isWhole ? number(events.length) : `the newest ${number(EVENTS_MAX)} are shown`],
        ['Purchases', bought === null ? unknown : number(bought.purchases)],
        ...(bought?.amounts ?? []).map(
          ({ currency, amount }): Fact => [
            currency === '' ? 'Revenue without a currency' : `Revenue ${currency}`,
            money(amount, currency),
          ],
        ),
      ]}
    />
  );
}

const DEVICE_COLUMNS: Column<TopAnswer['values'][number]>[] = [
  { id: 'device', title: 'Device', value: ({ value }) => deviceName(value) },
  { id: 'agent', title: 'User agent', value: ({ value }) => value },
  numberColumn('events', 'Events', ({ events }) => events),
];

function Devices({ siteId, personId }: { siteId: string; personId: string }) {
  const asked = useQuery(`${siteId} ${personId}`, (signal) =>
    ask(siteId, 'top', ofPerson(personId, 'client_user_agent', Date.now()), signal),
  );
  return (
    <AskedTable
      asked={asRows(asked, ({ values }) => values)}
      caption="Devices"
      columns={DEVICE_COLUMNS}
      keyOf={({ value }) => value}
      csvName="devices"
    />
  );
}

type ListedEvent = Listing['events'][number];

const SHOWN = 100;

interface TimelineProps {
  siteId: string;
  events: readonly ListedEvent[];
}

function Timeline({ siteId, events }: TimelineProps) {
  const [shown, setShown] = useState(SHOWN);
  const days = Map.groupBy(events.slice(0, shown), ({ timestamp }) => wholeDay(timestamp));
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
        <Button label={`Show ${Math.min(SHOWN, events.length - shown)} more`} onClick={() => setShown(shown + SHOWN)} />
      )}
    </div>
  );
}

function TimelineEvent({ siteId, event }: { siteId: string; event: ListedEvent }) {
  const { event_id, timestamp, action_source, distinct_id, properties } = event;
  const [page, amount] = [pageText(properties), amountText(event)];
  return (
    <li class="timeline-event">
      <span class="muted timeline-time">{timeOfDay(timestamp)}</span>
      <div class="timeline-body">
        <span class="row">
          <a class="strong wraps" href={eventAddress(siteId, event_id)}>
            {event.event}
          </a>
          <CanonicalName event={event.event} />
          {amount !== '' && <span class="badge">{amount}</span>}
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

/** A distinct id of a person: how often it is in the events shown, and what is known of why it belongs here. */
interface OwnId {
  distinctId: string;
  events: number;
  last: number;
  person: EventTrace['person'];
}

/** How many ids are traced; each takes a question of its own. */
const TRACED_MAX = 20;

/** The distinct ids of a person, the identifiers by which they said who it is, and what was merged when. */
function Merges({ siteId, events }: { siteId: string; events: Listing['events'] }) {
  const ids = [...Map.groupBy(events, ({ distinct_id }) => distinct_id)].slice(0, TRACED_MAX);
  const asked = useQuery(
    `${siteId} ${ids.map(([id]) => id).join(' ')}`,
    async (signal): Promise<ApiResult<OwnId[]>> => {
      const found: OwnId[] = [];
      for (const [distinctId, own] of ids) {
        const [newest] = own;
        if (newest === undefined) continue;
        const path = queryPath(siteId, 'events', newest.event_id);
        const trace = await request<EventTrace>('GET', path, { signal });
        if (!trace.ok) return trace;
        found.push({ distinctId, events: own.length, last: newest.timestamp, person: trace.value.person });
      }
      return { ok: true, value: found, version: null };
    },
  );
  return (
    <Shown asked={asked} lines={5}>
      {(found) => {
        const links = new Map(found.flatMap(({ person }) => person?.links ?? []).map((link) => [link.person_id, link]));
        const merged = [...links.values()].filter(({ person_id, target }) => person_id !== target);
        return (
          <div class="stack">
            <DataTable
              caption="Distinct ids"
              columns={ID_COLUMNS}
              rows={found}
              keyOf={({ distinctId }) => distinctId}
              csvName="ids"
            />
            <h3>Merges</h3>
            <DataTable
              caption="Merges"
              columns={LINK_COLUMNS}
              rows={merged}
              keyOf={({ person_id }) => person_id}
              emptyText="No merges"
            />
          </div>
        );
      }}
    </Shown>
  );
}

const ID_COLUMNS: Column<OwnId>[] = [
  { id: 'id', title: 'Distinct id', value: ({ distinctId }) => distinctId },
  numberColumn('events', 'Events shown', ({ events }) => events),
  timeColumn('last', 'Last seen', ({ last }) => last),
  { id: 'by', title: 'Identified by', value: ({ person }) => identifiedBy(person) },
];

/** By which identifiers events of a distinct id said who it is, each with the beginning of its hash. */
function identifiedBy(person: EventTrace['person']): string {
  const by = person?.identified_by ?? [];
  return by.map(({ identifier, digest_begin }) => `${identifier} ${digest_begin}…`).join(', ') || '–';
}

type Link = NonNullable<EventTrace['person']>['links'][number];

const LINK_COLUMNS: Column<Link>[] = [
  { id: 'person', title: 'Person', value: ({ person_id }) => person_id },
  { id: 'target', title: 'Merged into', value: ({ target }) => target },
  timeColumn('since', 'Since', ({ since }) => since),
];

interface PersonDataProps {
  siteId: string;
  personId: string;
}

/** A button that opens what is stored of a person, to export or erase it. */
export function PersonDataButton(props: PersonDataProps) {
  const [isShown, setShown] = useState(false);
  return (
    <>
      <Button label="Data and erasure" onClick={() => setShown(true)} />
      {isShown && (
        <Dialog title="Data of this person" kind="side" onClose={() => setShown(false)}>
          <PersonData {...props} />
        </Dialog>
      )}
    </>
  );
}

function PersonData({ siteId, personId }: PersonDataProps) {
  const [erasureId, setErasureId] = useState<string | null>(null);
  const [asks, setAsks] = useState(false);
  const body = { person_id: personId };
  const asked = useQuery(`${siteId} ${personId}`, (signal) =>
    request<PersonFound>('POST', sitePath(siteId, 'persons', 'find'), { body, signal }),
  );
  const exporting = useMutation();
  if (erasureId !== null) return <Receipt siteId={siteId} erasureId={erasureId} />;
  const distinctIds = asked.value?.distinct_ids ?? 0;
  const erase = async (): Promise<ApiResult<ErasureItem>> => {
    const most = Math.max(1, distinctIds);
    const answer = await request<ErasureItem>('POST', sitePath(siteId, 'persons', 'erase'), {
      body: { ...body, distinct_ids_max: most },
    });
    if (answer.ok) setErasureId(answer.value.erasure_id);
    return answer;
  };
  const ids = distinctIds === 1 ? '1 distinct id' : `${number(distinctIds)} distinct ids`;
  return (
    <div class="stack">
      <Shown asked={asked} lines={6}>
        {(found) => (
          <DataTable caption="Where data is" columns={COLUMNS} rows={rowsOf(found)} keyOf={([place]) => place} />
        )}
      </Shown>
      <FailureNote failure={exporting.failure} />
      <div class="actions">
        <Button
          label={exporting.isBusy ? 'Exporting' : 'Export'}
          disabled={exporting.isBusy || asked.value === null}
          onClick={() => exporting.run(() => exported(siteId, personId), saved)}
        />
        {mayAt('persons.erase', siteId) && (
          <Button kind="danger" label="Erase" disabled={asked.value === null} onClick={() => setAsks(true)} />
        )}
      </div>
      {asks && (
        <ConfirmAction
          title="Erase this person?"
          action="Erase for good"
          run={erase}
          onDone={() => undefined}
          onClose={() => setAsks(false)}
        >
          All events, links and outcomes of {ids} are deleted, and their events are dropped from now on. This cannot be
          undone.
        </ConfirmAction>
      )}
    </div>
  );
}

type Row = readonly [place: string, what: string];

const COLUMNS: readonly Column<Row>[] = [
  { id: 'place', title: 'Where', value: ([place]) => place },
  { id: 'what', title: 'What', value: ([, what]) => what },
];

const rowsOf = ({ distinct_ids, identifiers, tables, links, topics, destinations }: PersonFound): Row[] => [
  ['Distinct ids', number(distinct_ids)],
  ['Identifiers', number(identifiers)],
  ...tables.map(({ table, rows }): Row => [table, `${number(rows)} rows`]),
  ['identity.links', `${number(links)} records`],
  ...topics
    .filter(({ topic }) => topic !== 'identity.links')
    .map(({ topic, days }): Row => [topic, `${days} days at most`]),
  ...destinations.map(({ name, to_do }): Row => [`At ${name}`, to_do]),
];

/** All that `person export` writes, page by page: lines of JSON. */
async function exported(siteId: string, personId: string): Promise<ApiResult<string[]>> {
  const lines: object[] = [];
  for (let after: string | null = null; ; ) {
    const answer: ApiResult<PersonExport> = await request<PersonExport>('POST', sitePath(siteId, 'persons', 'export'), {
      body: { person_id: personId, ...(after === null ? {} : { after }) },
    });
    if (!answer.ok) return answer;
    const { links, events, next }: PersonExport = answer.value;
    lines.push(...links.map((link) => ({ link })), ...events.map((event) => ({ event })));
    if (next === null) return { ...answer, value: lines.map((line) => `${JSON.stringify(line)}\n`) };
    after = next;
  }
}

const saved = (lines: string[]): void => saveFile(new Blob(lines, { type: 'application/x-ndjson' }), 'person.ndjson');
