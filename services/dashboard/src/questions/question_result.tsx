import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AnswerTable } from '#pipelines/analytics/answer_table.ts';
import type { ActorsAnswer, ActorsQuery } from '#pipelines/analytics/people/query.ts';
import type { Questions } from '#pipelines/analytics/questions.ts';
import type { ShareItem } from '#services/control_api/queries.ts';
import { type ApiError, type ApiResult, ask, askFile, sentenceOf, sitePath } from '../api/request.ts';
import { type Asked, useGet, useList, useMutation, useQuery } from '../api/use_answer.ts';
import { capital, number, type queryCalendar, timeOfDay } from '../format.ts';
import type { Period } from '../period.ts';
import { mayAt } from '../session.ts';
import { Button, Icon } from '../ui/button.tsx';
import { type Column, DataTable, linkColumn, saveCsv, saveFile, timeColumn } from '../ui/data_table.tsx';
import { Dialog, toast } from '../ui/dialog.tsx';
import { ActionForm, problemOf, SelectField, TextField } from '../ui/form_fields.tsx';
import { eventAddress, personAddress } from '../ui/identifiers.tsx';
import { FailureNote, Panel, Shown } from '../ui/panel.tsx';
import { Menu } from '../ui/period_picker.tsx';
import { finished } from './conditions.ts';
import { isChangedFrom, openSaved, savedQueryId } from './query_address.ts';
import {
  type Board,
  boardsPath,
  putOnBoard,
  questionsPath,
  replaceQuestion,
  type SavedQuestion,
  saveQuestion,
} from './saved.ts';
import { SiteNamesContext, useSiteNames } from './site_names.ts';

/** An answer beside what was asked: lists of who is in a part of it are asked of the same time. */
interface Answered<Name extends keyof Questions> {
  query: Questions[Name]['query'];
  answer: Questions[Name]['answer'] & { as_of: number };
}

/** How long a question must stand before it is asked, so that not every letter is. */
const SETTLED_MS = 300;

/** Asks a question, which stands without its time, of a period. */
function useQuestion<Name extends keyof Questions>(
  siteId: string,
  name: Name,
  draft: object,
  { from, to, lastDay }: Period,
): Asked<Answered<Name>> {
  const question = finished(draft);
  const key = useSettled(JSON.stringify([siteId, name, question, from, lastDay]));
  return useQuery(key, async (signal) => {
    const query = { ...question, from, to } as unknown as Questions[Name]['query'];
    const answer = await ask(siteId, name, query, signal);
    return answer.ok ? { ...answer, value: { query, answer: answer.value } } : answer;
  });
}

/** A text as it was when it last stood still. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    timer.current = setTimeout(() => setSettled(text), SETTLED_MS);
    return () => clearTimeout(timer.current);
  }, [text]);
  return settled;
}

/** What a refusal says of a part of a question and what is in it, such as steps[0]; empty where it says nothing. */
export function problemsAt(failure: ApiError | null, part: string): string {
  const about = failure?.problems.filter(
    ({ field }) => field === part || field.startsWith(`${part}.`) || field.startsWith(`${part}[`),
  );
  return (about ?? []).map(({ message }) => `${capital(message)}.`).join(' ');
}

interface QuestionPageProps<Name extends keyof Questions> {
  siteId: string;
  name: Name;
  period: Period;
  question: object;
  title: string;
  /** What the question is written in; `failure` says what is wrong with it. */
  fields: (failure: ApiError | null) => VNode;
  lines?: number;
  /** The answer as people read it in a spreadsheet. */
  table: (answered: Answered<Name>) => AnswerTable;
  /** `onPart` opens the list of who is in a part of the answer; undefined where single persons may not be asked for. */
  children: (answered: Answered<Name>, onPart: ((part: ListedPart) => void) | undefined) => VNode;
}

export function QuestionPage<Name extends keyof Questions>(props: QuestionPageProps<Name>) {
  const { siteId, name, period, question, title, fields, lines = 10, table, children } = props;
  const asked = useQuestion(siteId, name, question, period);
  const names = useSiteNames(siteId);
  const [part, setPart] = useState<ListedPart | null>(null);
  const onPart = mayAt('query.persons', siteId) ? setPart : undefined;
  const answered = asked.value;
  return (
    <SiteNamesContext value={names}>
      <div class="stack">
        <Panel title={title}>{fields(asked.failure)}</Panel>
        <Panel
          title="Result"
          actions={
            <QuestionActions
              siteId={siteId}
              name={name}
              query={answered?.query ?? null}
              asOf={answered?.answer.as_of ?? null}
              table={answered === null ? null : () => table(answered)}
            />
          }
        >
          <Shown asked={asked} lines={lines}>
            {(value) => children(value, onPart)}
          </Shown>
        </Panel>
        {part !== null && <ActorDialog siteId={siteId} part={part} onClose={() => setPart(null)} />}
      </div>
    </SiteNamesContext>
  );
}

interface QuestionActionsProps<Name extends keyof Questions> {
  siteId: string;
  name: Name;
  /** As it was asked; null until something was answered. */
  query: Questions[Name]['query'] | null;
  asOf: number | null;
  /** The answer as people read it in a spreadsheet. */
  table: (() => AnswerTable) | null;
}

/** What is done with a saved question; `save` also with one that is none yet. */
type SaveMode = 'save' | 'rename' | 'duplicate' | 'board';

interface OpenedProps {
  siteId: string;
  saved: SavedQuestion;
  onMode(mode: SaveMode): void;
}

/** Which saved question is open, and what can be done with it. */
function Opened({ siteId, saved, onMode }: OpenedProps) {
  const isChanged = isChangedFrom(saved);
  const items: readonly { label: string; act(): void }[] = [
    { label: 'Rename', act: () => onMode('rename') },
    { label: 'Duplicate', act: () => onMode('duplicate') },
    { label: 'Add to a board', act: () => onMode('board') },
    ...(isChanged ? [{ label: 'Discard changes', act: () => openSaved(saved) }] : []),
  ];
  const name = `Saved query “${saved.name}”`;
  const said = <span class="muted small">{isChanged ? `${name}, changed` : name}</span>;
  if (!mayAt('saved.change', siteId)) return said;
  return (
    <>
      {said}
      <Menu label="Manage" name={`Manage ${saved.name}`}>
        {(close) => (
          <ul class="menu-list">
            {items.map(({ label, act }) => (
              <li key={label}>
                <button
                  type="button"
                  class="menu-item"
                  onClick={() => {
                    close();
                    act();
                  }}
                >
                  {label}
                </button>
              </li>
            ))}
          </ul>
        )}
      </Menu>
    </>
  );
}

function QuestionActions<Name extends keyof Questions>(props: QuestionActionsProps<Name>) {
  const { siteId, name, query, asOf, table } = props;
  const [mode, setMode] = useState<SaveMode | null>(null);
  const savedId = savedQueryId();
  const read = useGet<SavedQuestion>(savedId === null ? null : questionsPath(siteId, savedId));
  const opened = read.value?.id === savedId && read.value?.query === name ? read.value : null;
  const download = async (): Promise<void> => {
    if (query === null) return;
    const answer = await askFile(siteId, name, query, 'parquet');
    if (answer.ok) saveFile(answer.value, `${name}.parquet`);
    else toast(sentenceOf(answer.failure), 'bad');
  };
  return (
    <>
      {opened !== null && <Opened siteId={siteId} saved={opened} onMode={setMode} />}
      {asOf !== null && <span class="muted small">As of {timeOfDay(asOf)}</span>}
      <Button
        kind="small quiet"
        icon="download"
        label="CSV"
        disabled={table === null}
        onClick={() => table !== null && saveCsv(name, table())}
      />
      <Button kind="small quiet" icon="download" label="Parquet" disabled={query === null} onClick={download} />
      {mayAt('saved.change', siteId) && (
        <Button kind="small" label="Save" disabled={query === null} onClick={() => setMode('save')} />
      )}
      {mode !== null && query !== null && (
        <SaveDialog
          siteId={siteId}
          query={name}
          question={query}
          opened={opened}
          mode={mode}
          onSaved={read.again}
          onClose={() => setMode(null)}
        />
      )}
    </>
  );
}

interface SaveDialogProps {
  siteId: string;
  query: keyof Questions;
  question: object;
  /** The saved question that is open. */
  opened: SavedQuestion | null;
  mode: SaveMode;
  onSaved(): void;
  onClose(): void;
}

const TITLES: Readonly<Record<SaveMode, string>> = {
  save: 'Save query',
  rename: 'Rename query',
  duplicate: 'Duplicate query',
  board: 'Add to a board',
};
const OVER = 'over';
const NEW = 'new';
const NO_BOARD = '';
/** No board has such an id. */
const NEW_BOARD = ' new';

/** Saves a question under a name, over the saved one that is open or as a new one, and puts it on a board where one is chosen. */
function SaveDialog({ siteId, query, question, opened, mode, onSaved, onClose }: SaveDialogProps) {
  const [typed, setName] = useState<string | null>(null);
  const [how, setHow] = useState<string>(mode === 'duplicate' ? NEW : OVER);
  const [board, setBoard] = useState(mode === 'board' ? NEW_BOARD : NO_BOARD);
  const [boardName, setBoardName] = useState('');
  /** What was saved already, where a board did not take it: saved again it would be there twice. */
  const [made, setMade] = useState<SavedQuestion | null>(mode === 'board' ? opened : null);
  const boards = useList<Board>(boardsPath(siteId));
  const known = useList<SavedQuestion>(questionsPath(siteId));
  const shares = useList<ShareItem>(sitePath(siteId, 'shares'));
  const items = known.value?.items ?? [];
  const over = how === OVER && opened !== null ? opened : undefined;
  const copied = opened === null ? '' : `Copy of ${opened.name}`;
  const name = typed ?? over?.name ?? copied;
  const isNameTaken = items.some((one) => one.id !== over?.id && one.name === name.trim());
  const there = made ?? over;
  const isOn = ({ questions }: Board): boolean => there !== undefined && questions.includes(there.id);
  const linksTo = (kind: ShareItem['kind'], ids: readonly (string | undefined)[]): number =>
    (shares.value?.items ?? []).filter(
      (one) => one.state === 'active' && one.kind === kind && ids.includes(one.item_id),
    ).length;
  const boardsWithIt = (boards.value?.items ?? []).filter(isOn).map(({ id }) => id);
  const showing = over === undefined ? 0 : linksTo('board', boardsWithIt) + linksTo('question', [over.id]);
  const save = async (): Promise<ApiResult<unknown>> => {
    // Where the site gets another calendar, what was asked by its own has that one too.
    const { time_zone: _zone, week_start: _start, ...ofSite } = question as Partial<ReturnType<typeof queryCalendar>>;
    const asked = mode === 'rename' && over !== undefined ? over.question : ofSite;
    const saved = { name: name.trim(), query, question: asked };
    let kept = made;
    if (kept === null) {
      const answer = await (over === undefined ? saveQuestion(siteId, saved) : replaceQuestion(siteId, over, saved));
      if (!answer.ok) return answer;
      kept = answer.value;
      if (mode !== 'rename') openSaved(kept);
    }
    if (board === NO_BOARD) return { ok: true, value: kept, version: null };
    setMade(kept);
    return putOnBoard(siteId, kept.id, board === NEW_BOARD ? { name: boardName.trim() } : { board });
  };
  const done = (): void => {
    const to = board === NEW_BOARD ? boardName.trim() : boards.value?.items.find(({ id }) => id === board)?.name;
    const saved = mode === 'board' ? `Added “${made?.name}”` : `Saved “${name.trim()}”`;
    const added = mode === 'board' ? ` to “${to}”` : ` and added it to “${to}”`;
    toast(board === NO_BOARD ? saved : saved + added);
    onSaved();
    onClose();
  };
  const isReady =
    known.value !== null && !shares.waits && name.trim() !== '' && (board !== NEW_BOARD || boardName.trim() !== '');
  return (
    <Dialog title={TITLES[mode]} isChanged={`${typed ?? ''}${boardName}`.trim() !== ''} onClose={onClose}>
      <ActionForm
        action={mode === 'board' ? 'Add' : 'Save'}
        isReady={isReady}
        run={save}
        onDone={done}
        onClose={onClose}
      >
        {(failure) => (
          <>
            <FailureNote failure={known.failure ?? shares.failure} again={known.failure ? known.again : shares.again} />
            {made === null && opened !== null && mode === 'save' && (
              <SelectField
                label="Save"
                value={how}
                onValue={setHow}
                options={[
                  { value: OVER, label: `Replace “${opened.name}”` },
                  { value: NEW, label: 'As a new query' },
                ]}
              />
            )}
            {made === null && (
              <TextField
                label="Name"
                value={name}
                onValue={setName}
                required
                problem={problemOf(failure, 'name')}
                {...(isNameTaken && { hint: 'Another saved query has this name.' })}
              />
            )}
            {made !== null && mode !== 'board' && <p>“{made.name}” is saved, but not on a board yet.</p>}
            {mode !== 'rename' && (
              <SelectField
                label="Board"
                value={board}
                onValue={setBoard}
                options={[
                  ...(mode === 'board' ? [] : [{ value: NO_BOARD, label: 'No board' }]),
                  ...(boards.value?.items ?? [])
                    .filter((one) => !isOn(one))
                    .map(({ id, name: title }) => ({ value: id, label: title })),
                  { value: NEW_BOARD, label: 'New board' },
                ]}
              />
            )}
            <PublicNote links={linksTo('board', [board])} what="this board" />
            {mode === 'save' && <PublicNote links={showing} what={`“${over?.name}”`} />}
            {board === NEW_BOARD && <TextField label="Board name" value={boardName} onValue={setBoardName} required />}
          </>
        )}
      </ActionForm>
    </Dialog>
  );
}

/** Says before something is saved that links make it public. */
function PublicNote({ links, what }: { links: number; what: string }) {
  if (links === 0) return null;
  return (
    <p class="note note-warn" role="status">
      <Icon name="warning" />
      <span>
        {links === 1 ? '1 live shared link shows' : `${links} live shared links show`} {what}: whoever has one sees what
        is saved at once.
      </span>
    </p>
  );
}

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
