import type { Questions } from '#pipelines/analytics/questions.ts';
import type { Meta } from '#services/control_api/fields.ts';
import { type ApiResult, listAll, request, sitePath } from '../api/request.ts';
import { ID_CHARACTERS_MAX, idOf } from '../format.ts';

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
