import type { Questions } from '#pipelines/analytics/questions.ts';
import type { Meta } from '#services/control_api/fields.ts';
import { type ApiResult, listAll, request, sitePath } from '../api/request.ts';
import { ID_CHARACTERS_MAX, idOf } from '../format.ts';
import { withPeriod } from '../period.ts';
import { addressOf, currentLocation, setQuery } from '../router.ts';

export type QuestionKind = keyof Questions | 'sql';

export interface SavedQuestion extends Meta {
  id: string;
  name: string;
  query: QuestionKind;
  question: Record<string, unknown>;
  owner: string;
}

/** Saved questions in an order. */
export interface Board extends Meta {
  id: string;
  name: string;
  questions: string[];
  owner: string;
}

/** To put a question on a board that others change at the same time. */
const TRIES_MAX = 5;

export const questionsPath = (siteId: string, ...id: string[]): string => sitePath(siteId, 'questions', ...id);
export const boardsPath = (siteId: string, ...id: string[]): string => sitePath(siteId, 'boards', ...id);

async function listBoards(siteId: string): Promise<ApiResult<Board[]>> {
  const answer = await listAll<Board>(boardsPath(siteId));
  return answer.ok ? { ...answer, value: answer.value.items } : answer;
}

export async function listQuestions(siteId: string, signal?: AbortSignal): Promise<ApiResult<SavedQuestion[]>> {
  const answer = await listAll<SavedQuestion>(questionsPath(siteId), {}, undefined, signal);
  return answer.ok ? { ...answer, value: answer.value.items } : answer;
}

/** An id that says what a name does, and that none of some others is. */
export function idNamed(name: string, taken: readonly string[]): string {
  const base = idOf(name.replaceAll('_', '-')).slice(0, ID_CHARACTERS_MAX - 4) || 'item';
  if (!taken.includes(base)) return base;
  let count = 2;
  while (taken.includes(`${base}-${count}`)) count += 1;
  return `${base}-${count}`;
}

interface NewQuestion {
  name: string;
  query: keyof Questions;
  question: object;
}

export async function saveQuestion(siteId: string, saved: NewQuestion): Promise<ApiResult<SavedQuestion>> {
  const known = await listQuestions(siteId);
  if (!known.ok) return known;
  const ids = known.value.map(({ id }) => id);
  return request('POST', questionsPath(siteId), { body: { id: idNamed(saved.name, ids), ...saved } });
}

export const replaceQuestion = (
  siteId: string,
  { id, version }: Pick<SavedQuestion, 'id' | 'version'>,
  saved: NewQuestion,
): Promise<ApiResult<SavedQuestion>> => request('PUT', questionsPath(siteId, id), { version, body: { id, ...saved } });

/** Puts a question at the end of a board, or on a new one of a name. */
export async function putOnBoard(
  siteId: string,
  questionId: string,
  to: { board: string } | { name: string },
  tries = TRIES_MAX,
): Promise<ApiResult<Board>> {
  const known = await listBoards(siteId);
  if (!known.ok) return known;
  if ('name' in to) {
    const id = idNamed(
      to.name,
      known.value.map((board) => board.id),
    );
    return request('POST', boardsPath(siteId), { body: { id, name: to.name, questions: [questionId] } });
  }
  const board = known.value.find(({ id }) => id === to.board);
  const questions = [...(board?.questions ?? []), questionId];
  const put = await replaceBoard(siteId, {
    id: to.board,
    name: board?.name ?? to.board,
    version: board?.version ?? '',
    questions,
  });
  // Whatever somebody else has made of the board meanwhile, the question goes to its end.
  const isRepeated = !put.ok && put.failure.code === 'version_conflict' && tries > 1;
  return isRepeated ? putOnBoard(siteId, questionId, to, tries - 1) : put;
}

export const readBoard = (siteId: string, id: string, signal?: AbortSignal): Promise<ApiResult<Board>> =>
  request('GET', boardsPath(siteId, id), signal === undefined ? {} : { signal });

export const replaceBoard = (
  siteId: string,
  { id, name, version, questions }: Pick<Board, 'id' | 'name' | 'version' | 'questions'>,
): Promise<ApiResult<Board>> => request('PUT', boardsPath(siteId, id), { version, body: { id, name, questions } });

/** Where the query of the address has the question of a page, as the JSON that the API takes, without its time. */
const PARAMETER = 'q';
/** What the address asks; undefined where it asks nothing, or nothing that is JSON. */
export function queryFromAddress(): unknown {
  const text = currentLocation.value.query.get(PARAMETER);
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

let changedBy: Element | null = null;

/** Puts a question into the address, so that the way back undoes it; what is typed in one field is one step. */
export function setQueryInAddress(question: object): void {
  const by = document.activeElement;
  const goesOn = by !== null && by === changedBy && by.matches('input');
  changedBy = by;
  setQuery({ [PARAMETER]: JSON.stringify(question) }, goesOn ? 'replace' : 'push');
}

const SAVED = 'saved';

/** The id of the saved question that is open, however it was changed since; null where none is. */
export const savedQueryId = (): string | null => currentLocation.value.query.get(SAVED);

export function setSavedQueryId(id: string): void {
  setQuery({ [SAVED]: id });
}

/** The query of an address that asks a question, of a saved one with its id. */
export function queryAsking(question: object, savedId?: string): URLSearchParams {
  const saved = savedId === undefined ? {} : { [SAVED]: savedId };
  return withPeriod(new URLSearchParams({ [PARAMETER]: JSON.stringify(question), ...saved }));
}

/** Where a question is asked and changed, by what it asks; null: no page asks it by an address. */
const PAGES: Readonly<Record<QuestionKind, string | null>> = {
  funnel: 'funnels',
  trends: 'trends',
  retention: 'retention',
  paths: 'paths',
  correlation: null,
  revenue: null,
  stickiness: null,
  lifecycle: null,
  top: null,
  visits: null,
  live: null,
  timeline: null,
  survey: null,
  promo: null,
  form: null,
  actors: null,
  sql: null,
};

/** The page of a saved question; null where its kind has none. The page's period takes the place of its own time. */
export function questionAddress(siteId: string, { id, query, question }: SavedQuestion): string | null {
  // A newer service may have kinds that are not among these.
  const page = PAGES[query] ?? null;
  if (page === null) return null;
  const { from: _from, to: _to, fresh: _fresh, ...asked } = question;
  return addressOf(`/sites/${encodeURIComponent(siteId)}/${page}`, queryAsking(asked, id));
}
