import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { keyedHash } from '#pipelines/privacy/keyed_hash.ts';
import { redactCards } from '#pipelines/privacy/redact_cards.ts';
import { type EngageEvent, engageEvent } from './engage_event.ts';
import type { RespondRequest } from './engage_request.ts';
import { showingEventId } from './showing_event_id.ts';
import { hasChoices, type Question, type Survey, stepRange } from './survey.ts';
import { itemName } from './visitor_memory.ts';

/** `texts`: what was written in answer to open questions. */
export type ResponseRead = { ok: true; event: EngageEvent; texts: string[] } | { ok: false; field: string };

type Answer = NonNullable<RespondRequest['answers']>[number];

const EVENTS = {
  shown: 'survey_shown',
  partial: 'survey_answered',
  completed: 'survey_answered',
  dismissed: 'survey_dismissed',
} as const;

/**
 * The event of a response. An answer to a question that the survey does not have is refused, as is one that its question
 * does not take, but where the visitor saw another version than the survey is in now, which may have asked otherwise: then
 * that answer alone is left out. The same response again has the same event id; a partial one with
 * other answers, or of another place or time, is another event, and the last of a submission holds all answers.
 *
 * @param version The survey's own.
 */
export function surveyEvent(survey: Survey, version: number, request: RespondRequest, secret: Buffer): ResponseRead {
  const answered = readAnswers(survey, request.answers ?? [], request.version !== version);
  if (!answered.ok) return answered;
  const properties = {
    survey_id: survey.id,
    survey_version: request.version,
    submission_id: request.submission_id.toLowerCase(),
    survey_status: request.status,
    ...(request.elapsed_ms === undefined ? {} : { elapsed_ms: request.elapsed_ms }),
    ...answered.properties,
  };
  const event = engageEvent(EVENTS[request.status], eventIdOf(request, secret), properties, request);
  return { ok: true, event, texts: answered.texts };
}

function eventIdOf(request: RespondRequest, secret: Buffer): string {
  const { submission_id, survey_id, status, answers = [], revision, timestamp, elapsed_ms } = request;
  const name = itemName('survey', survey_id);
  if (status !== 'partial') return showingEventId(submission_id, name, status);
  // Whoever comes back to an answer gives it once more: its place tells it from a repeated request, else its time.
  const place = revision ?? [timestamp ?? null, elapsed_ms ?? null];
  // Under a secret: by a digest that anybody can make, what was written could be tried out.
  const digest = keyedHash(secret, `partial\0${JSON.stringify([place, answers])}`).toString('base64url');
  return showingEventId(submission_id, name, `partial:${digest.slice(0, 12)}`);
}

type Answered = { ok: true; properties: JsonObject; texts: string[] } | { ok: false; field: string };

function readAnswers({ questions }: Survey, answers: readonly Answer[], isOfOtherVersion: boolean): Answered {
  const properties: JsonObject = {};
  const texts: string[] = [];
  for (const [index, { question_id, value }] of answers.entries()) {
    const question = questions.find(({ id }) => id === question_id);
    if (question === undefined && isOfOtherVersion) continue;
    if (question === undefined) return { ok: false, field: `answers.${index}.question_id` };
    const read = readAnswer(question, value);
    if (read === null && isOfOtherVersion) continue;
    if (read === null) return { ok: false, field: `answers.${index}.value` };
    if (question.type === 'open') texts.push(String(read));
    properties[`answer_${question_id}`] = read;
    if (typeof read === 'number') Object.assign(properties, scoreOf(question, read, properties));
  }
  return { ok: true, properties, texts };
}

/** An answer as it is kept; null: its question does not take it. */
function readAnswer(question: Question, value: Answer['value']): string | number | boolean | string[] | null {
  switch (question.type) {
    case 'rating':
      return isStep(question, value) ? value : null;
    case 'open':
      return typeof value === 'string' && value.length <= question.max_length ? redactCards(value) : null;
    case 'link':
      return typeof value === 'boolean' ? value : null;
    case 'single':
      return typeof value === 'string' ? readChoice(question, value) : null;
    case 'multiple':
      return Array.isArray(value) ? readChoices(question, value) : null;
  }
}

function isStep(question: Question, value: Answer['value']): value is number {
  const [lowest, highest] = stepRange(question);
  return typeof value === 'number' && Number.isInteger(value) && value >= lowest && value <= highest;
}

/** A choice's id; where the visitor may write an answer of their own, that. */
function readChoice(question: Question, value: string): string | null {
  if (question.choices.some(({ id }) => id === value)) return value;
  return question.open_choice && hasChoices(question) ? redactCards(value) : null;
}

function readChoices(question: Question, values: readonly string[]): string[] | null {
  const read = values.map((value) => readChoice(question, value));
  return read.some((one) => one === null) ? null : (read as string[]);
}

/** Of the first rating the score, and of the first net promoter score its class. */
function scoreOf({ scale }: Question, value: number, known: JsonObject): JsonObject {
  const score = Object.hasOwn(known, 'score') ? {} : { score: value };
  if (scale !== 11 || Object.hasOwn(known, 'nps_class')) return score;
  const nps_class = value >= 9 ? 'promoter' : value >= 7 ? 'passive' : 'detractor';
  return { ...score, nps_score: value, nps_class };
}
