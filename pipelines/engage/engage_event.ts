// Events of surveys, promos and forms.
import { given, pageArrival } from '#pipelines/intake/compat/mapped_call.ts';
import { readShortText } from '#pipelines/intake/field_rules.ts';
import { readTimestamp, type TimedRequest } from '#pipelines/intake/timestamp.ts';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { hmacSha256, normalisePhone, pseudonym } from '#pipelines/privacy/hash_identifiers.ts';
import { normaliseEmail } from '#pipelines/privacy/normalise_text.ts';
import { isRounded } from '#pipelines/privacy/placeholder_ids.ts';
import { holdsGroupedCard, redactCards } from '#pipelines/privacy/redact_secrets.ts';
import { type ItemName, itemName } from './definition_fields.ts';
import type { Promo } from './definition_problems.ts';
import type { FormRequest, PromoAction, RespondRequest, SentPage, SentVisitor } from './engage_request.ts';
import type { Form, FormField } from './form.ts';
import { hasChoices, type Question, type Survey, stepRange } from './survey.ts';

/** An event as the acceptor takes it. */
export interface EngageEvent {
  event: string;
  uuid: string;
  distinct_id?: string;
  timestamp?: string;
  properties: JsonObject;
}

/** What came with a request beside what was done. */
export interface Circumstances {
  page?: SentPage;
  visitor?: SentVisitor;
  timestamp?: string;
}

/** What a request may say of the campaign beside the address of its page. */
export const CAMPAIGN = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content'] as const;

/**
 * An event of a survey, promo or form. Like every other it is cleaned by the edge before it is written; what is said of its
 * circumstances is searched for numbers of payment cards here, as what was written into it is where that is read.
 */
function engageEvent(
  event: string,
  uuid: string,
  properties: JsonObject,
  { page, visitor, timestamp }: Circumstances,
): EngageEvent {
  const distinctId = visitorId(visitor);
  return {
    event,
    uuid,
    ...(distinctId === undefined ? {} : { distinct_id: distinctId }),
    ...(timestamp === undefined ? {} : { timestamp }),
    properties: {
      ...withoutCards({ ...pageProperties(page, visitor), ...visitorProperties(visitor) }),
      ...consentProperties(visitor),
      ...properties,
    },
  };
}

/** Whose event it is: an id with a payment card's number in groups is none, and its visitor is anonymous. */
export function visitorId(visitor: SentVisitor | undefined): string | undefined {
  const sent = visitor?.distinct_id;
  return sent === undefined || holdsGroupedCard(sent) ? undefined : sent;
}

function withoutCards(texts: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, redactCards(String(text))]));
}

/** Both purposes wherever one is said: what is not said was not agreed to. */
function consentProperties({ consent }: SentVisitor = {}): JsonObject {
  return consent === undefined
    ? {}
    : { $consent: { analytics: consent.analytics === true, ads: consent.ads === true } };
}

function visitorProperties({ session_id, locale }: SentVisitor = {}): Record<string, string> {
  return {
    ...(session_id === undefined ? {} : { $session_id: session_id }),
    ...(locale === undefined ? {} : { language: locale }),
  };
}

function pageProperties(page: SentPage | undefined, visitor: SentVisitor | undefined): JsonObject {
  if (page === undefined) return {};
  const { url, title, referrer, campaign } = page;
  return {
    ...given({ $current_url: url, $title: title, $referrer: referrer, ...campaign }),
    ...pageArrival(url, visitor?.consent === undefined || visitor.consent.ads === true),
  };
}

/** `texts`: what was written in answer to open questions. */
type ResponseRead = { ok: true; event: EngageEvent; texts: string[] } | { ok: false; field: string };

type Answer = NonNullable<RespondRequest['answers']>[number];

const SURVEY_EVENTS = {
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
  const event = engageEvent(SURVEY_EVENTS[request.status], eventIdOf(request, secret), properties, request);
  return { ok: true, event, texts: answered.texts };
}

function eventIdOf(request: RespondRequest, secret: Buffer): string {
  const { submission_id, survey_id, status, answers = [], revision, timestamp, elapsed_ms } = request;
  const name = itemName('survey', survey_id);
  if (status !== 'partial') return showingEventId(submission_id, name, status);
  // Whoever comes back to an answer gives it once more: its place tells it from a repeated request, else its time.
  const place = revision ?? [timestamp ?? null, elapsed_ms ?? null];
  // Under a secret: by a digest that anybody can make, what was written could be tried out.
  const digest = hmacSha256(secret, `partial\0${JSON.stringify([place, answers])}`).toString('base64url');
  return showingEventId(submission_id, name, `partial:${digest.slice(0, 12)}`);
}

type Answered = { ok: true; properties: JsonObject; texts: string[] } | { ok: false; field: string };

function readAnswers({ questions }: Survey, answers: readonly Answer[], isOfOtherVersion: boolean): Answered {
  const properties: JsonObject = {};
  const texts: string[] = [];
  for (const [index, { question_id, value }] of answers.entries()) {
    // Of a question that was answered again the last answer counts.
    if (answers.findLastIndex((one) => one.question_id === question_id) !== index) continue;
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
  const read = [...new Set(values)].map((value) => readChoice(question, value));
  return read.some((one) => one === null) ? null : (read as string[]);
}

/** Of the first rating the score, and of the first net promoter score its class. */
function scoreOf({ scale }: Question, value: number, known: JsonObject): JsonObject {
  const score = Object.hasOwn(known, 'score') ? {} : { score: value };
  if (scale !== 11 || Object.hasOwn(known, 'nps_class')) return score;
  const nps_class = value >= 9 ? 'promoter' : value >= 7 ? 'passive' : 'detractor';
  return { ...score, nps_score: value, nps_class };
}

/** Names that GA4 knows, and ours for what it has none for. */
const PROMO_EVENTS = {
  view: 'view_promotion',
  click: 'select_promotion',
  dismiss: 'promotion_dismissed',
  copy_code: 'promotion_code_copied',
  redeem: 'promotion_redeemed',
} as const;

/**
 * The event of an action; the same action of one impression has the same event id.
 *
 * @param version The one that the visitor saw.
 */
export function promoEvent(promo: Promo, version: number, action: PromoAction): EngageEvent {
  const impression = action.impression_id.toLowerCase();
  const properties = {
    promotion_id: promo.id,
    promotion_name: promo.name,
    promotion_version: version,
    impression_id: impression,
    ...given({ creative_name: promo.creative, creative_slot: promo.slot, coupon: promo.code }),
    ...(action.action === 'redeem' ? amountOf(action) : {}),
  };
  return engageEvent(
    PROMO_EVENTS[action.action],
    showingEventId(impression, itemName('promo', promo.id), action.action),
    properties,
    action,
  );
}

function amountOf({ value, currency }: PromoAction): object {
  return { ...(value === undefined ? {} : { value }), ...(currency === undefined ? {} : { currency }) };
}

/** What is wrong with a field, by its name in the definition. */
interface FieldProblem {
  name: string;
  code: 'required' | 'format' | 'too_long';
}

type FieldsRead =
  /** `texts` is what was written, `messages` of it what stands in boxes for a message. */
  | { ok: true; values: ReadonlyMap<string, string>; texts: string[]; messages: string[] }
  | { ok: false; problems: FieldProblem[] };

/**
 * A form as it was filled in. Fields that the definition does not have are left out.
 *
 * @param isOfOtherVersion The visitor saw another version than the form is in now: what that one did not ask for is not
 *   missing, and a choice that it had is left out by itself.
 */
export function readFields(
  form: Form,
  request: FormRequest,
  country: string | null,
  isOfOtherVersion = false,
): FieldsRead {
  const values = new Map<string, string>();
  const problems: FieldProblem[] = [];
  for (const field of form.fields) {
    const value = sentText(request.fields, field.name);
    const code = problemOf(field, value, country);
    if (code !== null && isOfOtherVersion && isOfItsTime(field, request)) continue;
    if (code !== null) problems.push({ name: field.name, code });
    else if (value !== '') values.set(field.name, value);
  }
  if (form.consent_required && request.consent?.process !== true) problems.push({ name: 'consent', code: 'required' });
  if (problems.length > 0) return { ok: false, problems };
  const writtenIn = (...types: FormField['type'][]): string[] =>
    form.fields.flatMap(({ type, name }) => (types.includes(type) ? (values.get(name) ?? []) : []));
  return { ok: true, values, texts: writtenIn('text', 'textarea'), messages: writtenIn('textarea') };
}

/** Whether a visitor could not have known what the form asks now. */
function isOfItsTime({ name, type }: FormField, { fields }: FormRequest): boolean {
  return type === 'select' || fields === undefined || !Object.hasOwn(fields, name);
}

/** What a form's field says as text; empty where it says nothing. */
export function sentText(fields: FormRequest['fields'], name: string): string {
  const value = fields !== undefined && Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (value === undefined || value === null || value === false) return '';
  // A browser counts a line break once for maxlength, and a plain form has it in two characters.
  return (value === true ? 'yes' : String(value)).replaceAll('\r\n', '\n').trim();
}

function problemOf(field: FormField, value: string, country: string | null): FieldProblem['code'] | null {
  if (value === '') return field.required ? 'required' : null;
  if (value.length > field.max_length) return 'too_long';
  return isOfType(field, value, country) ? null : 'format';
}

function isOfType({ type, options }: FormField, value: string, country: string | null): boolean {
  switch (type) {
    case 'email':
      return normaliseEmail(value) !== null;
    case 'tel':
      return normalisePhone(value, country) !== null || /^[+\d][\d ()./-]{4,29}$/.test(value);
    case 'number':
      return Number.isFinite(Number(value));
    case 'select':
      return options.some(({ id }) => id === value);
    case 'text':
    case 'textarea':
    case 'checkbox':
    case 'hidden':
      return true;
  }
}

/**
 * The event of a form that was sent: fields with a map under the name of their property, of which the edge hashes e-mail
 * and phone; of the others what their definition keeps.
 */
export function formEvent(
  form: Form,
  values: ReadonlyMap<string, string>,
  request: FormRequest,
  { submissionId, version, secret }: { submissionId: string; version: number; secret: Buffer },
): EngageEvent {
  const kept = form.fields.flatMap((field) => keptField(field, values.get(field.name), secret));
  const { process, marketing } = request.consent ?? {};
  const properties = {
    ...formProperties(form, version, submissionId),
    ...given({ value: form.value, currency: form.currency, consent_process: process, consent_marketing: marketing }),
    ...consentVersion(form, request),
    ...Object.fromEntries(kept),
  };
  const id = showingEventId(submissionId, itemName('form', form.id), 'submitted');
  return engageEvent(form.conversion_event, id, properties, request);
}

/** That a form was shown, or closed without being sent. */
export function formStatusEvent(
  form: Form,
  status: 'shown' | 'dismissed',
  version: number,
  submissionId: string,
  circumstances: Circumstances,
): EngageEvent {
  const properties = formProperties(form, version, submissionId);
  const id = showingEventId(submissionId, itemName('form', form.id), status);
  return engageEvent(`form_${status}`, id, properties, circumstances);
}

function formProperties(form: Form, version: number, submissionId: string): JsonObject {
  return { form_id: form.id, form_version: version, submission_id: submissionId };
}

/** The version of the text that the visitor says they read, else of the one that the definition has. */
function consentVersion({ consent_version }: Form, { consent }: FormRequest): JsonObject {
  const version = consent?.text_version ?? consent_version;
  return version === '' ? {} : { consent_version: redactCards(version) };
}

/** A text that is a number as it stands; any other stays a text: it would be none, or another one. */
const isExact = (text: string): boolean =>
  /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(text.trim()) &&
  !isRounded(Number(text)) &&
  Number.isFinite(Number(text));

function keptField(
  { name, map, store, type }: FormField,
  value: string | undefined,
  secret: Buffer,
): [string, unknown][] {
  if (value === undefined) return [];
  if (map === 'email' || map === 'phone') return [[map, value]];
  if (map === '' && store === 'hash') return [[`field_${name}`, pseudonym(value.toLowerCase(), secret)]];
  if (map === '' && store === 'drop') return [];
  const clean = redactCards(value);
  const isNumber = clean === value && (map === 'value' || (map === '' && type === 'number')) && isExact(value);
  return [[map === '' ? `field_${name}` : map, isNumber ? Number(value) : clean]];
}

/**
 * The field for which the event of a request would be refused, by its name; null: for none. Known before anything is counted,
 * so that what is refused uses up nothing.
 */
export function circumstancesProblem(sent: Circumstances, request: TimedRequest): string | null {
  if (!readTimestamp(sent.timestamp, request).ok) return 'timestamp';
  const distinctId = visitorId(sent.visitor);
  return distinctId !== undefined && readShortText(distinctId) === null ? 'visitor.distinct_id' : null;
}

/**
 * The id of an event of a showing: the showing's own, which is of one item, and what happened. Results count events whose
 * ids begin so, so that nothing else may have one.
 */
function showingEventId(showing: string, item: ItemName, what: string): string {
  return `${showing.toLowerCase()}:${item}:${what}`;
}
