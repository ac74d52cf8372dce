import type { VNode } from 'preact';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { EventTrace } from '#pipelines/analytics/event_trace/answer.ts';
import type { Answer } from '../../api/api_answer.ts';
import { request } from '../../api/request.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { dateTime, number } from '../../format.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Shown } from '../../ui/states.tsx';

interface MergesProps {
  siteId: string;
  events: Listing['events'];
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
export function Merges({ siteId, events }: MergesProps): VNode {
  const ids = [...Map.groupBy(events, ({ distinct_id }) => distinct_id)].slice(0, TRACED_MAX);
  const asked = useAnswer(`${siteId} ${ids.map(([id]) => id).join(' ')}`, async (signal): Promise<Answer<OwnId[]>> => {
    const found: OwnId[] = [];
    for (const [distinctId, own] of ids) {
      const [newest] = own;
      if (newest === undefined) continue;
      const path = `/v1/query/${encodeURIComponent(siteId)}/events/${encodeURIComponent(newest.event_id)}`;
      const trace = await request<EventTrace>('GET', path, { signal });
      if (!trace.ok) return trace;
      found.push({ distinctId, events: own.length, last: newest.timestamp, person: trace.value.person });
    }
    return { ok: true, value: found, version: null };
  });
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
              emptyText="Nobody else became part of this person"
            />
          </div>
        );
      }}
    </Shown>
  );
}

const ID_COLUMNS: Column<OwnId>[] = [
  { id: 'id', title: 'Distinct id', value: ({ distinctId }) => distinctId },
  {
    id: 'events',
    title: 'Events shown',
    align: 'end',
    value: ({ events }) => events,
    cell: (row) => number(row.events),
  },
  { id: 'last', title: 'Last seen', value: ({ last }) => last, cell: ({ last }) => dateTime(last) },
  { id: 'by', title: 'Said who it is by', value: ({ person }) => identifiedBy(person) },
];

/** By which identifiers events of a distinct id said who it is, each with the beginning of its hash. */
function identifiedBy(person: EventTrace['person']): string {
  const by = person?.identified_by ?? [];
  return by.map(({ identifier, digest_begin }) => `${identifier} ${digest_begin}…`).join(', ') || '–';
}

type Link = NonNullable<EventTrace['person']>['links'][number];

const LINK_COLUMNS: Column<Link>[] = [
  { id: 'person', title: 'Person', value: ({ person_id }) => person_id },
  { id: 'target', title: 'Became part of', value: ({ target }) => target },
  { id: 'since', title: 'Since', value: ({ since }) => since, cell: ({ since }) => dateTime(since) },
];
