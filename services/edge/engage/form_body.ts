import type { HttpRequestIn } from '#infra/http/http_server.ts';
import {
  bodyReader,
  ENGAGE_BODY_BYTES_MAX,
  FIELDS_SENT_MAX,
  type FormRequest,
  formRequestShape,
} from '#pipelines/engage/engage_request.ts';
import { MARKETING_FIELD } from '#pipelines/engage/form.ts';
import type { IngestCaller } from '../accept.ts';
import { refusal } from '../answer.ts';
import { decompress } from '../decode.ts';
import { isMultipart, readMultipart } from '../multipart_form.ts';
import { hasBody } from '../payload.ts';
import { type BodyRead, invalidBody, readEngageBody } from './engage_body.ts';
import { plainPage } from './plain_page.ts';
import { readPlainPairs } from './plain_pairs.ts';

/** A form as it came: `isPlain` where a browser sent it without a script. */
export interface SentForm {
  form: FormRequest;
  isPlain: boolean;
}

const PLAIN = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';
export const FORM_CONTENT_TYPES = ['application/json', 'text/plain', PLAIN, MULTIPART];

const readForm = bodyReader(formRequestShape);

const typeOf = ({ headers }: HttpRequestIn): string => headers['content-type'] ?? '';

const isPlainForm = (request: HttpRequestIn): boolean =>
  typeOf(request).toLowerCase().startsWith(PLAIN) || isMultipart(typeOf(request));

/** Whether a page is shown what is answered: a form without a script sent it, in whatever coding. */
export const wantsPage = (request: HttpRequestIn): boolean =>
  isPlainForm(request) || (request.headers.accept ?? '').includes('text/html');

export async function readFormBody(
  request: HttpRequestIn,
  caller: Pick<IngestCaller, 'site' | 'key'>,
): Promise<BodyRead<SentForm>> {
  if (!isPlainForm(request)) {
    const read = readEngageBody(request, readForm);
    return read.ok ? { ok: true, body: { form: withMarketing(read.body, caller.site), isPlain: false } } : read;
  }
  if (!hasBody(request)) return { ok: false, answer: refusal('content_type_unsupported') };
  const bytes = decompress(request.body as Buffer, request.headers['content-encoding'], ENGAGE_BODY_BYTES_MAX);
  if (!bytes.ok) return { ok: false, answer: refusal(bytes.code) };
  const pairs = await pairsOf(bytes.value, typeOf(request));
  if (!pairs.ok) return pairs;
  const read = readForm(plainForm(pairs.body, request, caller));
  return read.ok
    ? { ok: true, body: { form: read.body, isPlain: true } }
    : { ok: false, answer: invalidBody(read.field) };
}

/**
 * A script's form with what its box for marketing says: who does not tick it refuses that advertising platforms get the
 * lead, whatever they agreed to elsewhere, and to tick it overrules no refusal.
 */
function withMarketing(form: FormRequest, { tag }: IngestCaller['site']): FormRequest {
  const box = form.fields?.[MARKETING_FIELD];
  const marketing = typeof box === 'boolean' ? box : form.consent?.marketing;
  if (marketing === undefined) return form;
  const said = form.visitor?.consent ?? { analytics: !tag.consent_required, ads: true };
  const consent = { analytics: said.analytics === true, ads: said.ads === true && marketing };
  return { ...form, consent: { ...form.consent, marketing }, visitor: { ...form.visitor, consent } };
}

/** The fields that a body of JSON may have, and as many again for ours and for boxes of one name. */
const PAIRS_MAX = 2 * FIELDS_SENT_MAX;

/** Names and values, whichever of both codings the form has; of `multipart/form-data` files are left out. */
async function pairsOf(body: Buffer, type: string): Promise<BodyRead<URLSearchParams>> {
  if (isMultipart(type)) {
    const read = await readMultipart(body, type, PAIRS_MAX);
    if (read.ok) return { ok: true, body: new URLSearchParams(read.fields) };
    const answer = read.reason === 'too_many' ? invalidBody('fields') : refusal('request_malformed');
    return { ok: false, answer };
  }
  if (hasTooManyPairs(body)) return { ok: false, answer: invalidBody('fields') };
  return { ok: true, body: readPlainPairs(body) };
}

/** Counted in the body, so that what is refused was never taken apart. */
function hasTooManyPairs(body: Buffer): boolean {
  let pairs = 1;
  for (let at = body.indexOf('&'); at >= 0 && pairs <= PAIRS_MAX; at = body.indexOf('&', at + 1)) pairs += 1;
  return pairs > PAIRS_MAX;
}

/** Names that begin with `_` are ours: no field of a definition may. Of a name that comes twice the first counts that is not empty. */
function plainForm(
  all: URLSearchParams,
  request: HttpRequestIn,
  { site, key }: Pick<IngestCaller, 'site' | 'key'>,
): object {
  const ours = (name: string): Record<string, string> => {
    const value = all.get(`_${name}`);
    return value === null || value === '' ? {} : { [name]: value };
  };
  const names = [...new Set(all.keys())].filter((name) => !name.startsWith('_'));
  const page = plainPage(all, request, key);
  const version = all.get('_version');
  const visitor = { ...ours('distinct_id'), ...ours('session_id'), ...visitorConsent(all, site.tag.consent_required) };
  return {
    ...ours('form_id'),
    ...ours('submission_id'),
    ...ours('token'),
    ...(version === null ? {} : { version: Number(version) }),
    fields: Object.fromEntries(names.map((name) => [name, all.getAll(name).find((value) => value !== '') ?? ''])),
    consent: { process: isTicked(all, '_consent'), marketing: isTicked(all, '_marketing') },
    ...(page === undefined ? {} : { page }),
    ...(Object.keys(visitor).length === 0 ? {} : { visitor }),
  };
}

/**
 * What the visitor agreed to beside sending the form, both purposes of it: ads by the box for marketing alone. On a site
 * that measures whom it likes, a form without that box says nothing, and what the destinations declare holds.
 *
 * @param asksConsent The site measures nobody who has not agreed.
 */
function visitorConsent(all: URLSearchParams, asksConsent: boolean): object {
  if (!asksConsent && !all.has('_marketing')) return {};
  const analytics = !asksConsent || isTicked(all, '_consent');
  return { consent: { analytics, ads: isTicked(all, '_marketing') } };
}

/** A checkbox that is not ticked is not sent at all; a hidden field of its name before it says that it was there. */
const isTicked = (all: URLSearchParams, name: string): boolean =>
  all.getAll(name).some((value) => !['', 'no', '0', 'false'].includes(value));
