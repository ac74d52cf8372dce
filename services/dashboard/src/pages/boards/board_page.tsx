import { useEffect, useState } from 'preact/hooks';
import { type ApiResult, queryPath, request } from '../../api/request.ts';
import { useQuery } from '../../api/use_answer.ts';
import { ConflictDialog, useSave } from '../../editing/editing.tsx';
import { idOf, timeOfDay, timeZone } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import type { Period } from '../../period.ts';
import { ChoiceField } from '../../questions/filter_fields.tsx';
import { questionAddress } from '../../questions/query_address.ts';
import { ActorDialog, type ListedPart } from '../../questions/question_result.tsx';
import { type Board, listQuestions, readBoard, replaceBoard, type SavedQuestion } from '../../questions/saved.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { saveCsv } from '../../ui/data_table.tsx';
import { Empty, FailureNote, Panel, Shown } from '../../ui/panel.tsx';
import { usePeriod } from '../../ui/period_picker.tsx';
import { SavedAnswer } from './saved_answer.tsx';
import { savedTable } from './saved_table.ts';
import { ShareDialog } from './share_dialog.tsx';

const PARAMETER = 'wall';
const EVERY = { '1': 'minute', '5': '5 minutes', '15': '15 minutes', '60': 'hour' };
type Minutes = keyof typeof EVERY;
const isMinutes = (text: string): text is Minutes => text in EVERY;

/** How often a board on a wall is read anew, as the address says it; null: it is on none. */
function wallMinutes(): Minutes | null {
  const text = currentLocation.value.query.get(PARAMETER);
  if (text === null) return null;
  return isMinutes(text) ? text : '1';
}

/** The same in milliseconds. */
function wallEveryMs(): number | null {
  const minutes = wallMinutes();
  return minutes === null ? null : Number(minutes) * 60_000;
}

interface BoardHeadProps {
  name: string;
  period: Period;
  /** When it was read last. */
  readMs: number;
  /** Null: the person may not. */
  onShare: (() => void) | null;
}

/** The name of a board, and the way to a wall: without navigation, in larger letters, read anew by itself. Escape leads back. */
function BoardHead({ name, period, readMs, onShare }: BoardHeadProps) {
  const minutes = wallMinutes();
  const isWall = minutes !== null;
  useEffect(() => {
    if (!isWall) return undefined;
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && !event.defaultPrevented) leave();
    };
    // In the browser's own full screen Escape is the browser's.
    const onFullScreen = (): void => {
      if (document.fullscreenElement === null) leave();
    };
    document.addEventListener('keydown', onKeyDown);
    document.addEventListener('fullscreenchange', onFullScreen);
    return () => {
      document.removeEventListener('keydown', onKeyDown);
      document.removeEventListener('fullscreenchange', onFullScreen);
      if (document.fullscreenElement !== null) void document.exitFullscreen();
    };
  }, [isWall]);
  return (
    <div class="row board-head">
      <p class="strong board-name">{name}</p>
      {isWall && (
        <>
          <span class="muted">
            {period.label}, {timeZone()}
          </span>
          <span class="muted small">Updated {timeOfDay(readMs)}</span>
          <ChoiceField
            label="Update every"
            value={minutes}
            labels={EVERY}
            onChoice={(chosen) => setQuery({ [PARAMETER]: chosen })}
          />
        </>
      )}
      {!isWall && onShare !== null && <Button kind="small" label="Share" onClick={onShare} />}
      <Button
        kind="small"
        icon={isWall ? 'close' : 'wide'}
        label={isWall ? 'Leave full screen' : 'Full screen'}
        onClick={isWall ? leave : enter}
      />
    </div>
  );
}

function enter(): void {
  setQuery({ [PARAMETER]: '1' }, 'push');
  // Where the browser refuses, the board has the whole window.
  document.documentElement.requestFullscreen?.().catch(() => undefined);
}

const leave = (): void => setQuery({ [PARAMETER]: null }, 'push');

interface BoardContent {
  readMs: number;
  board: Board;
  questions: SavedQuestion[];
}

async function readContent(siteId: string, id: string, signal: AbortSignal): Promise<ApiResult<BoardContent>> {
  const board = await readBoard(siteId, id, signal);
  if (!board.ok) return board;
  const known = await listQuestions(siteId, signal);
  if (!known.ok) return known;
  const byId = new Map(known.value.map((one) => [one.id, one]));
  const questions = board.value.questions.flatMap((one) => byId.get(one) ?? []);
  return { ok: true, value: { readMs: Date.now(), board: board.value, questions }, version: board.version };
}

export default function BoardPage({ params }: PageProps) {
  const [siteId, id] = [params['site'] ?? '', params['board'] ?? ''];
  const everyMs = wallEveryMs();
  const period = usePeriod(everyMs);
  const asked = useQuery(`${siteId} ${id}`, (signal) => readContent(siteId, id, signal), everyMs);
  const [part, setPart] = useState<ListedPart | null>(null);
  const [shares, setShares] = useState(false);
  const saving = useSave();
  const arrange = (board: Board, question: string, to: number | null): void =>
    void saving.save<Board>({
      loaded: board,
      factsOf: ({ questions }) => ({ questions }),
      kept: ({ questions }) => ({ questions: moved(questions, question, to) }),
      read: () => readBoard(siteId, id),
      write: (base) => replaceBoard(siteId, { ...base, questions: moved(base.questions, question, to) }),
      onDone: asked.again,
    });
  return (
    <div class="stack">
      <FailureNote failure={saving.failure} />
      <ConflictDialog saving={saving} what="this board" />
      <Shown asked={asked} lines={8}>
        {({ readMs, board, questions }) => (
          <div class="stack board">
            <BoardHead
              name={board.name}
              period={period}
              readMs={readMs}
              onShare={mayAt('saved.change', siteId) ? () => setShares(true) : null}
            />
            {shares && <ShareDialog siteId={siteId} kind="board" item={board} onClose={() => setShares(false)} />}
            {questions.length === 0 && (
              <Empty title="This board is empty">Save a query on another page and add it to this board.</Empty>
            )}
            {questions.map((saved, at) => (
              <QuestionPanel
                key={saved.id}
                siteId={siteId}
                saved={saved}
                period={period}
                everyMs={everyMs}
                onPart={setPart}
                at={at}
                onPlace={mayAt('saved.change', siteId) ? (to) => arrange(board, saved.id, to) : null}
              />
            ))}
          </div>
        )}
      </Shown>
      {part !== null && <ActorDialog siteId={siteId} part={part} onClose={() => setPart(null)} />}
    </div>
  );
}

/** Ids with one at another place, or without it; one that is there no more does not come back. */
function moved(ids: readonly string[], one: string, to: number | null): string[] {
  const rest = ids.filter((id) => id !== one);
  if (to === null || !ids.includes(one)) return rest;
  return [...rest.slice(0, Math.max(0, to)), one, ...rest.slice(Math.max(0, to))];
}

interface QuestionPanelProps {
  siteId: string;
  saved: SavedQuestion;
  period: Period;
  everyMs: number | null;
  onPart(part: ListedPart): void;
  at: number;
  /** Puts it at another place, or with null takes it off the board; null: the person may not. */
  onPlace: ((to: number | null) => void) | null;
}

function QuestionPanel({ siteId, saved, period, everyMs, onPart, at, onPlace }: QuestionPanelProps) {
  const { from, to, lastDay } = period;
  const key = `${siteId} ${saved.id} ${saved.version} ${from} ${lastDay}`;
  const asking = async (signal: AbortSignal) => {
    const path = queryPath(siteId, 'questions', saved.id);
    const answer = await request<object>('GET', path, { query: { from, to }, signal });
    return answer.ok ? { ...answer, value: { answer: answer.value, query: { ...saved.question, from, to } } } : answer;
  };
  const asked = useQuery(key, asking, everyMs);
  const address = questionAddress(siteId, saved);
  const saveTable = (): void => {
    if (asked.value !== null) saveCsv(idOf(saved.name), savedTable(saved.query, asked.value));
  };
  return (
    <Panel
      title={saved.name}
      actions={
        <>
          {asked.value !== null && (
            <Button
              kind="small quiet"
              icon="download"
              label="CSV"
              aria-label={`CSV of ${saved.name}`}
              onClick={saveTable}
            />
          )}
          {address !== null && (
            <a class="button small" href={address}>
              Open
            </a>
          )}
          {onPlace !== null && at > 0 && (
            <IconButton icon="up" isSmall label={`Move ${saved.name} up`} onClick={() => onPlace(at - 1)} />
          )}
          {onPlace !== null && (
            <IconButton
              icon="close"
              isSmall
              label={`Remove ${saved.name} from the board`}
              onClick={() => onPlace(null)}
            />
          )}
        </>
      }
    >
      <Shown asked={asked} lines={6}>
        {({ answer, query }) => (
          <SavedAnswer
            kind={saved.query}
            query={query}
            answer={answer}
            onPart={mayAt('query.persons', siteId) ? onPart : undefined}
          />
        )}
      </Shown>
    </Panel>
  );
}
