import { Fragment, type VNode } from 'preact';
import { useState } from 'preact/hooks';
import { ask } from '../../api/questions.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { dateTime, money, number } from '../../format.ts';
import type { PageProps } from '../../page_spec.ts';
import { CopyButton } from '../../ui/copy_button.tsx';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Shown } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { deviceName } from './device_name.ts';
import { lifeRange, ofPerson } from './find_people.ts';
import { Merges } from './merges.tsx';
import { boughtOf, boughtQuestion } from './person_facts.ts';
import { Timeline } from './timeline.tsx';

const EVENTS_MAX = 1_000;

/** One person: what it did, under which ids, on which devices, and how it became one. */
export default function PersonPage({ params }: PageProps): VNode {
  const [siteId, personId] = [params['site'] ?? '', params['person'] ?? ''];
  const [tab, setTab] = useState('timeline');
  const asked = useAnswer(`${siteId} ${personId}`, (signal) =>
    ask(siteId, 'timeline', { ...lifeRange(Date.now()), person_id: personId, limit: EVENTS_MAX }, signal),
  );
  const events = asked.value?.events ?? [];
  // Asked for by an id that became part of another, the events are those of the one it is now.
  const now = events[0]?.person_id ?? personId;
  return (
    <div class="stack">
      <Panel title="Person" actions={<CopyButton text={now} what="person id" />}>
        <Shown asked={asked} lines={3}>
          {() =>
            events.length === 0 ? (
              <Empty title="This person has no events">It may be of another site, or its events were removed.</Empty>
            ) : (
              <dl class="facts">
                <dt>Person id</dt>
                <dd>{now}</dd>
                {now !== personId && (
                  <>
                    <dt>Merged from</dt>
                    <dd>{personId}</dd>
                  </>
                )}
                <dt>Last seen</dt>
                <dd>{dateTime(events[0]?.timestamp ?? 0)}</dd>
                <dt>{events.length < EVENTS_MAX ? 'First seen' : 'Shown from'}</dt>
                <dd>{dateTime(events.at(-1)?.timestamp ?? 0)}</dd>
                <dt>Events</dt>
                <dd>
                  {events.length < EVENTS_MAX ? number(events.length) : `the newest ${number(EVENTS_MAX)} are shown`}
                </dd>
                <BoughtFacts siteId={siteId} personId={now} />
              </dl>
            )
          }
        </Shown>
      </Panel>
      {events.length > 0 && (
        <Panel title="What is known">
          <Tabs
            label="What is known"
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

/** How often somebody bought, and for how much of each currency. */
function BoughtFacts({ siteId, personId }: { siteId: string; personId: string }): VNode {
  const asked = useAnswer(`${siteId} ${personId}`, (signal) =>
    ask(siteId, 'trends', boughtQuestion(personId, Date.now()), signal),
  );
  const bought = asked.value === null ? null : boughtOf(asked.value);
  const unknown = asked.failure === null ? '…' : '–';
  return (
    <>
      <dt>Purchases</dt>
      <dd>{bought === null ? unknown : number(bought.purchases)}</dd>
      {bought?.amounts.map(({ currency, amount }) => (
        <Fragment key={currency}>
          <dt>{currency === '' ? 'Revenue without a currency' : `Revenue ${currency}`}</dt>
          <dd>{money(amount, currency)}</dd>
        </Fragment>
      ))}
    </>
  );
}

interface Device {
  name: string;
  userAgent: string;
  events: number;
}

const DEVICE_COLUMNS: Column<Device>[] = [
  { id: 'device', title: 'Device', value: ({ name }) => name },
  { id: 'agent', title: 'User agent', value: ({ userAgent }) => userAgent },
  { id: 'events', title: 'Events', align: 'end', value: ({ events }) => events, cell: (row) => number(row.events) },
];

function Devices({ siteId, personId }: { siteId: string; personId: string }): VNode {
  const asked = useAnswer(`${siteId} ${personId}`, (signal) =>
    ask(siteId, 'top', ofPerson(personId, 'client_user_agent', Date.now()), signal),
  );
  return (
    <Shown asked={asked}>
      {({ values }) => (
        <DataTable
          caption="Devices"
          columns={DEVICE_COLUMNS}
          rows={values.map(({ value, events }) => ({ name: deviceName(value), userAgent: value, events }))}
          keyOf={({ userAgent }) => userAgent}
          csvName="devices"
        />
      )}
    </Shown>
  );
}
