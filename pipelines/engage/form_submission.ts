import { hashedSecretly } from '#pipelines/intake/hashed_secretly.ts';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import { normalisePhone } from '#pipelines/privacy/hash_phone.ts';
import { normaliseEmail } from '#pipelines/privacy/normalise_email.ts';
import { redactCards } from '#pipelines/privacy/redact_cards.ts';
import { type Circumstances, type EngageEvent, engageEvent } from './engage_event.ts';
import type { FormRequest } from './engage_request.ts';
import type { Form, FormField } from './form.ts';
import { showingEventId } from './showing_event_id.ts';
import { itemName } from './visitor_memory.ts';

/** What is wrong with a field, by its name in the definition. */
interface FieldProblem {
  name: string;
  code: 'required' | 'format' | 'too_long';
}

export type FieldsRead =
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
    ...(form.value === null ? {} : { value: form.value }),
    ...(form.currency === '' ? {} : { currency: form.currency }),
    ...(process === undefined ? {} : { consent_process: process }),
    ...(marketing === undefined ? {} : { consent_marketing: marketing }),
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

function keptField(
  { name, map, store, type }: FormField,
  value: string | undefined,
  secret: Buffer,
): [string, unknown][] {
  if (value === undefined) return [];
  if (map === 'email' || map === 'phone') return [[map, value]];
  if (map === '' && store === 'hash') return [[`field_${name}`, hashedSecretly(value.toLowerCase(), secret)]];
  if (map === '' && store === 'drop') return [];
  const clean = redactCards(value);
  const isNumber = clean === value && (map === 'value' || (map === '' && type === 'number'));
  return [[map === '' ? `field_${name}` : map, isNumber ? Number(value) : clean]];
}
