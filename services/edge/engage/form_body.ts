import type { HttpRequestIn } from '#infra/http/http_server.ts';
import {
  bodyReader,
  ENGAGE_BODY_BYTES_MAX,
  FIELDS_SENT_MAX,
  type FormRequest,
  formRequestShape,
} from '#pipelines/engage/engage_request.ts';
import { refusal } from '../answer.ts';
import { decompress } from '../decode.ts';
import { hasBody } from '../payload.ts';
import { type BodyRead, invalidBody, readEngageBody } from './engage_body.ts';
import { readPlainPairs } from './plain_pairs.ts';

/** A form as it came: `isPlain` where a browser sent it without a script. */
export interface SentForm {
  form: FormRequest;
  isPlain: boolean;
}

const PLAIN = 'application/x-www-form-urlencoded';
export const FORM_CONTENT_TYPES = ['application/json', 'text/plain', PLAIN];

const readForm = bodyReader(formRequestShape);

export const isPlainForm = (request: HttpRequestIn): boolean =>
  (request.headers['content-type'] ?? '').toLowerCase().startsWith(PLAIN);

/** @param asksConsent The site measures nobody who has not agreed. */
export function readFormBody(request: HttpRequestIn, asksConsent: boolean): BodyRead<SentForm> {
  if (!isPlainForm(request)) {
    const read = readEngageBody(request, readForm);
    return read.ok ? { ok: true, body: { form: read.body, isPlain: false } } : read;
  }
  if (!hasBody(request)) return { ok: false, answer: refusal('content_type_unsupported') };
  const bytes = decompress(request.body as Buffer, request.headers['content-encoding'], ENGAGE_BODY_BYTES_MAX);
  if (!bytes.ok) return { ok: false, answer: refusal(bytes.code) };
  if (hasTooManyPairs(bytes.value)) return { ok: false, answer: invalidBody('fields') };
  const read = readForm(plainForm(readPlainPairs(bytes.value), request, asksConsent));
  return read.ok
    ? { ok: true, body: { form: read.body, isPlain: true } }
    : { ok: false, answer: invalidBody(read.field) };
}

/** The fields that a body of JSON may have, and as many again for ours and for boxes of one name. */
const PAIRS_MAX = 2 * FIELDS_SENT_MAX;

/** Counted in the body, so that what is refused was never taken apart. */
function hasTooManyPairs(body: Buffer): boolean {
  let pairs = 1;
  for (let at = body.indexOf('&'); at >= 0 && pairs <= PAIRS_MAX; at = body.indexOf('&', at + 1)) pairs += 1;
  return pairs > PAIRS_MAX;
}

/** Names that begin with `_` are ours: no field of a definition may. Of a name that comes twice the first counts that is not empty. */
function plainForm(all: URLSearchParams, request: HttpRequestIn, asksConsent: boolean): object {
  const ours = (name: string): Record<string, string> => {
    const value = all.get(`_${name}`);
    return value === null || value === '' ? {} : { [name]: value };
  };
  const names = [...new Set(all.keys())].filter((name) => !name.startsWith('_'));
  const { referer } = request.headers;
  const version = all.get('_version');
  const visitor = { ...ours('distinct_id'), ...ours('session_id'), ...visitorConsent(all, asksConsent) };
  return {
    ...ours('form_id'),
    ...ours('submission_id'),
    ...ours('token'),
    ...(version === null ? {} : { version: Number(version) }),
    fields: Object.fromEntries(names.map((name) => [name, all.getAll(name).find((value) => value !== '') ?? ''])),
    consent: { process: isTicked(all, '_consent'), marketing: isTicked(all, '_marketing') },
    ...(referer === undefined || referer.length > REFERER_MAX ? {} : { page: { url: referer } }),
    ...(Object.keys(visitor).length === 0 ? {} : { visitor }),
  };
}

/**
 * What the visitor agreed to beside sending the form, both purposes of it: ads by the box for marketing alone. On a site
 * that measures whom it likes, a form without that box says nothing, and what the destinations declare holds.
 */
function visitorConsent(all: URLSearchParams, asksConsent: boolean): object {
  if (!asksConsent && !all.has('_marketing')) return {};
  const analytics = !asksConsent || isTicked(all, '_consent');
  return { consent: { analytics, ads: isTicked(all, '_marketing') } };
}

const REFERER_MAX = 4096;

/** A checkbox that is not ticked is not sent at all; a hidden field of its name before it says that it was there. */
const isTicked = (all: URLSearchParams, name: string): boolean =>
  all.getAll(name).some((value) => !['', 'no', '0', 'false'].includes(value));
