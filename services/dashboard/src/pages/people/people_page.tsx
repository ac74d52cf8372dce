import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { TopAnswer } from '#pipelines/analytics/top.ts';
import type { Failure } from '../../api/api_answer.ts';
import { ask } from '../../api/questions.ts';
import { number } from '../../format.ts';
import type { PageProps } from '../../page_spec.ts';
import { place, setQuery } from '../../router.ts';
import { personAddress } from '../../site_address.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { TextField } from '../../ui/form_fields.tsx';
import { Panel } from '../../ui/panel.tsx';
import { FailureNote, Loading } from '../../ui/states.tsx';
import { mayAt } from '../../who.ts';
import { peopleQuestion, searchInAddress } from './find_people.ts';
import { SeenLast } from './seen_last.tsx';

type Found = TopAnswer['values'][number];

const NOT_HASHED: Failure = {
  status: 400,
  code: 'not_secure',
  message: 'This page came without HTTPS, so the browser cannot hash that here. Search by an id, or by the SHA-256.',
  problems: [],
};

/** Finds people by an id, also one of an order, an e-mail address or a phone number. What was typed stays in the browser and out of the address bar. */
export default function PeoplePage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  // A search stands in the address, so that it is there on the way back; of an e-mail address or a phone number its hash does.
  const [text, setText] = useState(place.value.query.get('id') ?? '');
  const [found, setFound] = useState<readonly Found[] | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  const search = async (): Promise<void> => {
    setBusy(true);
    setQuery({ id: await searchInAddress(text) });
    const question = await peopleQuestion(text, Date.now());
    if (question === null) {
      setFailure(NOT_HASHED);
      // Whom the search before found is not whom this one is for.
      setFound(null);
    } else {
      const answer = await ask(siteId, 'top', question);
      setFailure(answer.ok ? null : answer.failure);
      setFound(answer.ok ? answer.value.values : null);
    }
    setBusy(false);
  };
  useEffect(() => {
    if (text.trim() !== '') void search();
  }, []);
  return (
    <div class="stack">
      <Panel title="Find a person">
        <form
          class="search"
          onSubmit={(event) => {
            event.preventDefault();
            if (text.trim() !== '' && !isBusy) void search();
          }}
        >
          <TextField
            label="E-mail address or id"
            type="search"
            value={text}
            onValue={setText}
            autocomplete="off"
            hint="A person, distinct, external or order id, an e-mail address, a phone number with + and the code of its country, or the SHA-256 of one. An address or number is hashed in this browser: only its hash is sent."
          />
          <button type="submit" class="button primary" disabled={isBusy || text.trim() === ''}>
            Search
          </button>
        </form>
        {failure !== null && <FailureNote failure={failure} again={() => void search()} />}
      </Panel>
      {isBusy && <Loading />}
      {!isBusy && found !== null && (
        <Panel title={found.length === 1 ? '1 person' : `${number(found.length)} people`}>
          <DataTable
            caption="People found"
            columns={columnsOf(siteId)}
            rows={found}
            keyOf={({ value }) => value}
            emptyText="Nobody has this id or address in the last two years"
          />
        </Panel>
      )}
      {!isBusy && found === null && mayAt('query.events', siteId) && <SeenLast siteId={siteId} />}
    </div>
  );
}

const columnsOf = (siteId: string): Column<Found>[] => [
  {
    id: 'person',
    title: 'Person',
    value: ({ value }) => value,
    cell: ({ value }) => <a href={personAddress(siteId, value)}>{value}</a>,
  },
  {
    id: 'events',
    title: 'Events found by',
    align: 'end',
    value: ({ events }) => events,
    cell: (row) => number(row.events),
  },
];
