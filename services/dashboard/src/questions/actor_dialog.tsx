import { useState } from 'preact/hooks';
import type { ActorsAnswer, ActorsQuery } from '#pipelines/analytics/people/query.ts';
import type { Questions } from '#pipelines/analytics/questions.ts';
import { ask } from '../api/request.ts';
import { useMutation, useQuery } from '../api/use_answer.ts';
import { number } from '../format.ts';
import { Button } from '../ui/button.tsx';
import { type Column, DataTable, linkColumn, timeColumn } from '../ui/data_table.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { eventAddress, personAddress } from '../ui/identifiers.tsx';
import { FailureNote, Shown } from '../ui/panel.tsx';

type Actor = ActorsAnswer['actors'][number];

export interface ListedPart {
  title: string;
  of: ActorsQuery['of'];
}

export interface AnswerViewProps<Name extends keyof Questions> {
  query: Questions[Name]['query'];
  answer: Questions[Name]['answer'];
  /** Lists who is in a part; left out where nobody may be listed. */
  onPart?: ((part: ListedPart) => void) | undefined;
}

const PAGE = 200;

export function ActorDialog({ siteId, part, onClose }: { siteId: string; part: ListedPart; onClose(): void }) {
  const first = useQuery(JSON.stringify(part.of), (signal) =>
    ask(siteId, 'actors', { of: part.of, limit: PAGE }, signal),
  );
  const [more, setMore] = useState<ActorsAnswer[]>([]);
  const action = useMutation();
  const load = (after: string) =>
    action.run(
      () => ask(siteId, 'actors', { of: part.of, limit: PAGE, after }),
      (page) => setMore((before) => [...before, page]),
    );
  return (
    <Dialog title={part.title} kind="side" onClose={onClose}>
      <Shown asked={first} lines={10}>
        {(page) => {
          const pages = [page, ...more];
          const next = pages.at(-1)?.next ?? null;
          const actors = pages.flatMap((one) => one.actors);
          const total = page.total ?? actors.length;
          const label = `Show ${number(Math.min(PAGE, total - actors.length))} more`;
          const further = next === null ? undefined : { load: () => void load(next), asks: action.isBusy, label };
          return (
            <div class="stack">
              <ListedCount total={total} shown={actors.length} further={further} />
              <FailureNote failure={action.failure} />
              <DataTable
                caption={part.title}
                columns={columnsOf(siteId)}
                rows={actors}
                keyOf={({ event_id, person_id }) => `${person_id} ${event_id}`}
                csvName="people"
                emptyText="No one is here"
                more={further}
              />
            </div>
          );
        }}
      </Shown>
    </Dialog>
  );
}

interface ListedCountProps {
  total: number;
  shown: number;
  further: { load(): void; asks: boolean; label: string } | undefined;
}

/** How many there are. The list may be longer than the screen, so that the way to the others stands above it too. */
function ListedCount({ total, shown, further }: ListedCountProps) {
  if (further === undefined) {
    return (
      <p>
        <span class="strong">{number(total)}</span> in all
      </p>
    );
  }
  return (
    <div class="row">
      <p role="status">
        <span class="strong">
          {number(shown)} of {number(total)} shown
        </span>
      </p>
      <Button kind="small" label={further.label} disabled={further.asks} onClick={further.load} />
      <p class="muted small">CSV has the {number(shown)} that are shown.</p>
    </div>
  );
}

const columnsOf = (siteId: string): Column<Actor>[] => [
  linkColumn({
    ...{ id: 'person', title: 'Person', value: ({ person_id }) => person_id },
    href: ({ person_id }) => personAddress(siteId, person_id),
  }),
  linkColumn({
    ...{ id: 'event', title: 'Event', value: ({ event }) => event },
    href: ({ event_id }) => eventAddress(siteId, event_id),
  }),
  timeColumn('time', 'At', ({ timestamp }) => timestamp),
  { id: 'distinct', title: 'Distinct id', value: ({ distinct_id }) => distinct_id },
];
