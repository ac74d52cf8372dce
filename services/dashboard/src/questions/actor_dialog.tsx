import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ActorsAnswer } from '#pipelines/query/actor_lists.ts';
import type { ActorsQuery } from '#pipelines/query/actor_shapes.ts';
import type { Failure } from '../api/api_answer.ts';
import { ask } from '../api/questions.ts';
import { useAnswer } from '../api/use_answer.ts';
import { dateTime, number } from '../format.ts';
import { addressOf } from '../router.ts';
import { type Column, DataTable } from '../ui/data_table.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FailureNote, Shown } from '../ui/states.tsx';

type Actor = ActorsAnswer['actors'][number];

/** A part of a chart whose actors are listed. */
export interface ListedPart {
  title: string;
  of: ActorsQuery['of'];
}

interface ActorDialogProps {
  siteId: string;
  part: ListedPart;
  onClose(): void;
}

const PAGE = 200;

/** Where a person's page is. */
export const personAddress = (siteId: string, personId: string): string =>
  addressOf(`/sites/${encodeURIComponent(siteId)}/people/${encodeURIComponent(personId)}`);

/** Where the way of an event is. */
const eventAddress = (siteId: string, eventId: string): string =>
  addressOf(`/sites/${encodeURIComponent(siteId)}/events/${encodeURIComponent(eventId)}`);

/** Lists who is in a part of a chart, page by page, at the right edge of the page. */
export function ActorDialog({ siteId, part, onClose }: ActorDialogProps): VNode {
  const first = useAnswer(JSON.stringify(part.of), (signal) =>
    ask(siteId, 'actors', { of: part.of, limit: PAGE }, signal),
  );
  const [more, setMore] = useState<ActorsAnswer[]>([]);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [asks, setAsks] = useState(false);
  const load = async (after: string): Promise<void> => {
    setAsks(true);
    const answer = await ask(siteId, 'actors', { of: part.of, limit: PAGE, after });
    if (answer.ok) setMore((before) => [...before, answer.value]);
    setFailure(answer.ok ? null : answer.failure);
    setAsks(false);
  };
  return (
    <Dialog title={part.title} kind="side" onClose={onClose}>
      <Shown asked={first} lines={10}>
        {(page) => {
          const pages = [page, ...more];
          const next = pages.at(-1)?.next ?? null;
          const actors = pages.flatMap((one) => one.actors);
          return (
            <div class="stack">
              <p>
                <span class="strong">{number(page.total)}</span> in all
                {next !== null && `, ${number(actors.length)} of them below`}
              </p>
              {failure !== null && <FailureNote failure={failure} />}
              <DataTable
                caption={part.title}
                columns={columnsOf(siteId)}
                rows={actors}
                keyOf={({ event_id, person_id }) => `${person_id} ${event_id}`}
                csvName="people"
                emptyText="Nobody is here"
                more={next === null ? undefined : { load: () => void load(next), asks }}
              />
            </div>
          );
        }}
      </Shown>
    </Dialog>
  );
}

const columnsOf = (siteId: string): Column<Actor>[] => [
  {
    id: 'person',
    title: 'Person',
    value: ({ person_id }) => person_id,
    cell: ({ person_id }) => <a href={personAddress(siteId, person_id)}>{person_id}</a>,
  },
  {
    id: 'event',
    title: 'By the event',
    value: ({ event }) => event,
    cell: ({ event, event_id }) => <a href={eventAddress(siteId, event_id)}>{event}</a>,
  },
  {
    id: 'time',
    title: 'At',
    value: ({ timestamp }) => timestamp,
    cell: ({ timestamp }) => dateTime(timestamp),
  },
  { id: 'distinct', title: 'Distinct id', value: ({ distinct_id }) => distinct_id },
];
