import { useEffect, useState } from 'preact/hooks';
import type { TopAnswer } from '#pipelines/analytics/top.ts';
import { type ApiError, type ApiResult, ask } from '../../api/request.ts';
import { useMutation, useQuery } from '../../api/use_answer.ts';
import { number } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import {
  AskedTable,
  asRows,
  type Column,
  DataTable,
  linkColumn,
  numberColumn,
  timeColumn,
} from '../../ui/data_table.tsx';
import { submitHandler, TextField } from '../../ui/form_fields.tsx';
import { personAddress } from '../../ui/identifiers.tsx';
import { FailureNote, Loading, Panel } from '../../ui/panel.tsx';
import { Erasures } from './erasures.tsx';
import { newestQuestion, pageText, peopleQuestion, type Seen, searchInAddress, seenLast } from './people.ts';

type Found = TopAnswer['values'][number];

const NOT_HASHED: ApiError = {
  status: 400,
  code: 'not_secure',
  message: 'Hashing it needs HTTPS. Search by an id or a SHA-256 hash instead.',
  problems: [],
};

/**
 * Finds people by an id, also one of an order, an e-mail address or a phone number. What was typed stays in the browser and
 * out of the address bar.
 */
export default function PeoplePage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  // A search stands in the address, so that it is there on the way back; of an e-mail address or a phone number its hash does.
  const [text, setText] = useState(currentLocation.value.query.get('id') ?? '');
  const [found, setFound] = useState<readonly Found[] | null>(null);
  const { isBusy, failure, run } = useMutation();
  const asked = async (): Promise<ApiResult<TopAnswer>> => {
    setQuery({ id: await searchInAddress(text) });
    const question = await peopleQuestion(text, Date.now());
    return question === null ? { ok: false, failure: NOT_HASHED } : ask(siteId, 'top', question);
  };
  const search = async (): Promise<void> => {
    const answer = await run(asked);
    // Whom the search before found is not whom this one is for.
    setFound(answer?.values ?? null);
  };
  useEffect(() => {
    if (text.trim() !== '') void search();
  }, []);
  return (
    <div class="stack">
      <Panel title="Find a person">
        <form class="row search" onSubmit={submitHandler(() => text.trim() !== '' && !isBusy && search())}>
          <TextField
            label="E-mail address or id"
            type="search"
            value={text}
            onValue={setText}
            autocomplete="off"
            hint="A person, distinct, external or order id, an e-mail address, a phone number with its country code, or a SHA-256 hash. Addresses and numbers are hashed in this browser: only the hash is sent."
          />
          <Button type="submit" kind="primary" label="Search" disabled={isBusy || text.trim() === ''} />
        </form>
        <FailureNote failure={failure} again={() => void search()} />
      </Panel>
      {isBusy && <Loading />}
      {!isBusy && found !== null && (
        <Panel title={found.length === 1 ? '1 person' : `${number(found.length)} people`}>
          <DataTable
            caption="People found"
            columns={columnsOf(siteId)}
            rows={found}
            keyOf={({ value }) => value}
            emptyText="No person found in the last two years"
          />
        </Panel>
      )}
      {!isBusy && found === null && mayAt('query.events', siteId) && <SeenLast siteId={siteId} />}
      {mayAt('persons.erase', siteId) && <Erasures siteId={siteId} />}
    </div>
  );
}

const columnsOf = (siteId: string): Column<Found>[] => [
  linkColumn({
    ...{ id: 'person', title: 'Person', value: ({ value }) => value },
    href: ({ value }) => personAddress(siteId, value),
  }),
  numberColumn('events', 'Matching events', ({ events }) => events),
];

function SeenLast({ siteId }: { siteId: string }) {
  const asked = useQuery(siteId, (signal) => ask(siteId, 'live', newestQuestion(Date.now()), signal));
  return (
    <Panel title="Recently seen">
      <AskedTable
        asked={asRows(asked, ({ events }) => seenLast(events))}
        lines={8}
        caption="People recently seen"
        columns={seenColumnsOf(siteId)}
        keyOf={({ personId }) => personId}
        csvName="people-seen-last"
        emptyText="No one was seen in the last 24 hours"
      />
    </Panel>
  );
}

const seenColumnsOf = (siteId: string): Column<Seen>[] => [
  linkColumn({
    ...{ id: 'person', title: 'Person', value: ({ personId }) => personId },
    href: ({ personId }) => personAddress(siteId, personId),
  }),
  timeColumn('last', 'Last seen', ({ last }) => last.timestamp),
  { id: 'event', title: 'Last event', value: ({ last }) => last.event },
  { id: 'page', title: 'Page', value: ({ last }) => pageText(last.properties) },
  numberColumn('events', 'Recent events', ({ events }) => events),
];
