import { useState } from 'preact/hooks';
import type { ErasureItem, PersonExport, PersonFound } from '#services/control_api/persons.ts';
import { type ApiResult, request, sitePath } from '../../api/request.ts';
import { useMutation, useQuery } from '../../api/use_answer.ts';
import { number } from '../../format.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmAction } from '../../ui/confirm_action.tsx';
import { type Column, DataTable, saveFile } from '../../ui/data_table.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { FailureNote, Shown } from '../../ui/panel.tsx';
import { Receipt } from './erasures.tsx';

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
