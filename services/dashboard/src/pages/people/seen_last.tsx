import type { VNode } from 'preact';
import { ask } from '../../api/questions.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { dateTime, number } from '../../format.ts';
import { personAddress } from '../../site_address.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Shown } from '../../ui/states.tsx';
import { newestQuestion, pageText, type Seen, seenLast } from './person_facts.ts';

/** Who was there last, by the newest events of the last day. */
export function SeenLast({ siteId }: { siteId: string }): VNode {
  const asked = useAnswer(siteId, (signal) => ask(siteId, 'live', newestQuestion(Date.now()), signal));
  return (
    <Panel title="Seen last">
      <Shown asked={asked} lines={8}>
        {({ events }) => (
          <DataTable
            caption="People seen last"
            columns={columnsOf(siteId)}
            rows={seenLast(events)}
            keyOf={({ personId }) => personId}
            csvName="people-seen-last"
            emptyText="Nobody was there in the last 24 hours"
          />
        )}
      </Shown>
    </Panel>
  );
}

const columnsOf = (siteId: string): Column<Seen>[] => [
  {
    id: 'person',
    title: 'Person',
    value: ({ personId }) => personId,
    cell: ({ personId }) => <a href={personAddress(siteId, personId)}>{personId}</a>,
  },
  { id: 'last', title: 'Last seen', value: ({ last }) => last.timestamp, cell: ({ last }) => dateTime(last.timestamp) },
  { id: 'event', title: 'Last event', value: ({ last }) => last.event },
  { id: 'page', title: 'Page', value: ({ last }) => pageText(last.properties) },
  {
    ...{ id: 'events', title: 'Newest events', align: 'end', value: ({ events }) => events },
    cell: ({ events }) => number(events),
  },
];
