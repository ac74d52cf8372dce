import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Failure } from '../api/api_answer.ts';
import type { Questions } from '../api/questions.ts';
import { useAnswer } from '../api/use_answer.ts';
import { Dialog } from '../ui/dialog.tsx';
import { FormActions } from '../ui/form_actions.tsx';
import { problemOf, SelectField, TextField } from '../ui/form_fields.tsx';
import { FailureNote } from '../ui/states.tsx';
import { toast } from '../ui/toast.tsx';
import { putSavedInPlace, savedInPlace } from './question_place.ts';
import { listBoards, listQuestions, putOnBoard, replaceQuestion, type SavedQuestion, saveQuestion } from './saved.ts';

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
export function SaveDialog({ siteId, query, question, onClose }: SaveDialogProps): VNode {
  const [typed, setName] = useState<string | null>(null);
  const [how, setHow] = useState<string>(OVER);
  const [board, setBoard] = useState(NO_BOARD);
  const [boardName, setBoardName] = useState('');
  /** What was saved already, where a board did not take it: saved again it would be there twice. */
  const [made, setMade] = useState<SavedQuestion | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  const boards = useAnswer(siteId, (signal) => listBoards(siteId, signal));
  const known = useAnswer(siteId, (signal) => listQuestions(siteId, signal));
  const opened = known.value?.find((one) => one.id === savedInPlace() && one.query === query);
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
  const saved = async (): Promise<Failure | null> => {
    const answer = made === null ? await keep({ name: name.trim(), query, question }) : null;
    if (answer?.ok === false) return answer.failure;
    const kept = answer?.value ?? made;
    if (kept !== null) putSavedInPlace(kept.id);
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
    <Dialog title="Save this question" isChanged={`${typed ?? ''}${boardName}`.trim() !== ''} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !isBusy) void save();
        }}
      >
        {failure !== null && <FailureNote failure={failure} />}
        {known.failure !== null && <FailureNote failure={known.failure} again={known.again} />}
        {made === null && opened !== undefined && (
          <SelectField
            label="Save"
            value={how}
            onValue={setHow}
            options={[
              { value: OVER, label: `Over “${opened.name}”` },
              { value: NEW, label: 'As a new question' },
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
            {...(isNameTaken && { hint: 'Another saved question has this name.' })}
          />
        ) : (
          <p>“{made.name}” is saved; it is on no board yet.</p>
        )}
        <SelectField
          label="Board"
          value={board}
          onValue={setBoard}
          options={[
            { value: NO_BOARD, label: 'On no board' },
            ...(boards.value ?? []).map(({ id, name: title }) => ({ value: id, label: title })),
            { value: NEW_BOARD, label: 'On a new board' },
          ]}
        />
        {board === NEW_BOARD && (
          <TextField label="Name of the board" value={boardName} onValue={setBoardName} required />
        )}
        <FormActions action="Save" disabled={!isReady || isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
