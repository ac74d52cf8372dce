import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AnswerTable } from '#pipelines/analytics/answer_table.ts';
import type { Questions } from '#pipelines/analytics/questions.ts';
import { type ApiError, ask, askFile, request, sentenceOf } from '../api/request.ts';
import { type Asked, useQuery } from '../api/use_answer.ts';
import { timeOfDay } from '../format.ts';
import type { Period } from '../period.ts';
import { mayAt } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { saveCsv, saveFile } from '../ui/data_table.tsx';
import { Dialog, toast } from '../ui/dialog.tsx';
import { FormActions, problemOf, SelectField, submitHandler, TextField } from '../ui/form_fields.tsx';
import { FailureNote, Panel, Shown } from '../ui/panel.tsx';
import { ActorDialog, type ListedPart } from './actor_dialog.tsx';
import { finished } from './conditions.ts';
import { savedQueryId, setSavedQueryId } from './query_address.ts';
import {
  listBoards,
  listQuestions,
  putOnBoard,
  questionsPath,
  replaceQuestion,
  type SavedQuestion,
  saveQuestion,
} from './saved.ts';

/** An answer beside what was asked: lists of who is in a part of it are asked of the same time. */
interface Answered<Name extends keyof Questions> {
  query: Questions[Name]['query'];
  answer: Questions[Name]['answer'] & { as_of: number };
}

/** How long a question must stand before it is asked, so that not every letter is. */
const SETTLED_MS = 300;

/** Asks a question, which stands without its time, of a period. */
export function useQuestion<Name extends keyof Questions>(
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
  return (about ?? []).map(({ message }) => sentence(message)).join(' ');
}

const sentence = (message: string): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;

interface QuestionResultProps<Name extends keyof Questions> {
  siteId: string;
  name: Name;
  asked: Asked<Answered<Name>>;
  /** Lines of room that are kept for the answer. */
  lines?: number;
  /** The answer as people read it in a spreadsheet, where it is not what the service writes. */
  table?: (answered: Answered<Name>) => AnswerTable;
  /** `onPart` opens the list of who is in a part of the answer; undefined where single persons may not be asked for. */
  children: (answered: Answered<Name>, onPart: ((part: ListedPart) => void) | undefined) => VNode;
}

/** The answer to a question, what can be done with it, and the list of who is in a part of it. */
export function QuestionResult<Name extends keyof Questions>({
  siteId,
  name,
  asked,
  lines = 10,
  table,
  children,
}: QuestionResultProps<Name>): VNode {
  const [part, setPart] = useState<ListedPart | null>(null);
  const onPart = mayAt('query.persons', siteId) ? setPart : undefined;
  return (
    <>
      <Panel
        title="Result"
        actions={
          <QuestionActions
            siteId={siteId}
            name={name}
            query={asked.value?.query ?? null}
            asOf={asked.value?.answer.as_of ?? null}
            table={table === undefined || asked.value === null ? null : withAnswer(table, asked.value)}
          />
        }
      >
        <Shown asked={asked} lines={lines}>
          {(answered) => children(answered, onPart)}
        </Shown>
      </Panel>
      {part !== null && <ActorDialog siteId={siteId} part={part} onClose={() => setPart(null)} />}
    </>
  );
}

const withAnswer =
  <Value,>(table: (answered: Value) => AnswerTable, answered: Value): (() => AnswerTable) =>
  () =>
    table(answered);

interface QuestionActionsProps<Name extends keyof Questions> {
  siteId: string;
  name: Name;
  /** As it was asked; null until something was answered. */
  query: Questions[Name]['query'] | null;
  asOf: number | null;
  /** The answer as people read it in a spreadsheet; null: CSV is what the service writes. */
  table: (() => AnswerTable) | null;
}

/** Which saved question is open. */
function Opened({ siteId, id }: { siteId: string; id: string }): VNode | null {
  const asked = useQuery(`${siteId} ${id}`, (signal) =>
    request<SavedQuestion>('GET', questionsPath(siteId, id), { signal }),
  );
  return asked.value === null ? null : <span class="muted small">Saved query “{asked.value.name}”</span>;
}

/** What can be done with a question and its answer: save it, download it. */
function QuestionActions<Name extends keyof Questions>({
  siteId,
  name,
  query,
  asOf,
  table,
}: QuestionActionsProps<Name>): VNode {
  const [saves, setSaves] = useState(false);
  const savedId = savedQueryId();
  const download = async (format: 'csv' | 'parquet'): Promise<void> => {
    if (query === null) return;
    if (format === 'csv' && table !== null) return saveCsv(name, table());
    const answer = await askFile(siteId, name, query, format);
    if (answer.ok) saveFile(answer.value, `${name}.${format}`);
    else toast(sentenceOf(answer.failure), 'bad');
  };
  return (
    <>
      {savedId !== null && <Opened key={`${savedId} ${saves}`} siteId={siteId} id={savedId} />}
      {asOf !== null && <span class="muted small as-of">As of {timeOfDay(asOf)}</span>}
      {(['csv', 'parquet'] as const).map((format) => (
        <Button
          key={format}
          kind="small quiet"
          icon="download"
          label={format === 'csv' ? 'CSV' : 'Parquet'}
          disabled={query === null}
          onClick={() => download(format)}
        />
      ))}
      {mayAt('saved.change', siteId) && (
        <Button kind="small" label="Save" disabled={query === null} onClick={() => setSaves(true)} />
      )}
      {saves && query !== null && (
        <SaveDialog siteId={siteId} query={name} question={query} onClose={() => setSaves(false)} />
      )}
    </>
  );
}

interface SaveDialogProps {
  siteId: string;
  query: keyof Questions;
  question: object;
  onClose(): void;
}

const OVER = 'over';
const NEW = 'new';
const NO_BOARD = '';
/** No board has such an id. */
const NEW_BOARD = ' new';

/** Saves a question under a name, over the saved one that is open or as a new one, and puts it on a board where one is chosen. */
function SaveDialog({ siteId, query, question, onClose }: SaveDialogProps): VNode {
  const [typed, setName] = useState<string | null>(null);
  const [how, setHow] = useState<string>(OVER);
  const [board, setBoard] = useState(NO_BOARD);
  const [boardName, setBoardName] = useState('');
  /** What was saved already, where a board did not take it: saved again it would be there twice. */
  const [made, setMade] = useState<SavedQuestion | null>(null);
  const [failure, setFailure] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const boards = useQuery(siteId, (signal) => listBoards(siteId, signal));
  const known = useQuery(siteId, (signal) => listQuestions(siteId, signal));
  const opened = known.value?.find((one) => one.id === savedQueryId() && one.query === query);
  const over = how === OVER ? opened : undefined;
  const name = typed ?? over?.name ?? '';
  const isNameTaken = known.value?.some((one) => one.id !== over?.id && one.name === name.trim()) === true;
  const save = async (): Promise<void> => {
    setBusy(true);
    const failed = await saved();
    setBusy(false);
    setFailure(failed);
    if (failed !== null) return;
    toast(`Saved “${name.trim()}”`);
    onClose();
  };
  const saved = async (): Promise<ApiError | null> => {
    const answer = made === null ? await keep({ name: name.trim(), query, question }) : null;
    if (answer?.ok === false) return answer.failure;
    const kept = answer?.value ?? made;
    if (kept !== null) setSavedQueryId(kept.id);
    if (board === NO_BOARD || kept === null) return null;
    setMade(kept);
    const to = board === NEW_BOARD ? { name: boardName.trim() } : { board };
    const put = await putOnBoard(siteId, kept.id, to);
    return put.ok ? null : put.failure;
  };
  const keep = (saved: Parameters<typeof saveQuestion>[1]): ReturnType<typeof saveQuestion> =>
    over === undefined ? saveQuestion(siteId, saved) : replaceQuestion(siteId, over, saved);
  const isReady = known.value !== null && name.trim() !== '' && (board !== NEW_BOARD || boardName.trim() !== '');
  return (
    <Dialog title="Save query" isChanged={`${typed ?? ''}${boardName}`.trim() !== ''} onClose={onClose}>
      <form
        class="stack"
        onSubmit={submitHandler(() => {
          if (isReady && !isBusy) void save();
        })}
      >
        <FailureNote failure={failure} />
        <FailureNote failure={known.failure} again={known.again} />
        {made === null && opened !== undefined && (
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
        {made === null ? (
          <TextField
            label="Name"
            value={name}
            onValue={setName}
            required
            problem={problemOf(failure, 'name')}
            {...(isNameTaken && { hint: 'Another saved query has this name.' })}
          />
        ) : (
          <p>“{made.name}” is saved, but not on a board yet.</p>
        )}
        <SelectField
          label="Board"
          value={board}
          onValue={setBoard}
          options={[
            { value: NO_BOARD, label: 'No board' },
            ...(boards.value ?? []).map(({ id, name: title }) => ({ value: id, label: title })),
            { value: NEW_BOARD, label: 'New board' },
          ]}
        />
        {board === NEW_BOARD && <TextField label="Board name" value={boardName} onValue={setBoardName} required />}
        <FormActions action="Save" disabled={!isReady || isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
