// Reads a form from JSON, or from what a browser sends without a script.

import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';
import type { HttpRequestIn } from '#infra/http/http_server.ts';
import { CAMPAIGN } from '#pipelines/engage/engage_event.ts';
import {
  bodyReader,
  ENGAGE_BODY_BYTES_MAX,
  FIELDS_SENT_MAX,
  type FormRequest,
  formRequestShape,
} from '#pipelines/engage/engage_request.ts';
import { MARKETING_FIELD } from '#pipelines/engage/form.ts';
import { originRefusal } from '#pipelines/settings/callers.ts';
import type { ApiKey } from '#schemas/setting.ts';
import { pageOrigin } from '../auth.ts';
import { hasBody, isMultipart, readMultipart, unpackedBody } from '../body.ts';
import { refusal } from '../errors.ts';
import type { IngestCaller } from '../ingest_service.ts';
import { type BodyRead, invalidBody, readEngageBody } from './submission.ts';

/** A form as it came: `isPlain` where a browser sent it without a script. */
interface SentForm {
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

export async function readFormBody(request: HttpRequestIn, caller: IngestCaller): Promise<BodyRead<SentForm>> {
  if (!isPlainForm(request)) {
    const read = readEngageBody(request, readForm);
    return read.ok ? { ok: true, body: { form: withMarketing(read.body, caller.site), isPlain: false } } : read;
  }
  if (!hasBody(request)) return { ok: false, answer: refusal('content_type_unsupported') };
  const bytes = unpackedBody(request, ENGAGE_BODY_BYTES_MAX);
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

/**
 * Names that begin with `_` are ours: no field of a definition may. Of a name that comes twice the first counts that is not
 * empty.
 */
function plainForm(all: URLSearchParams, request: HttpRequestIn, { site, key }: IngestCaller): object {
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

const ADDRESS_CHARACTERS_MAX = 4096;
const CAMPAIGN_CHARACTERS_MAX = 200;

/**
 * The page of a plain form: what the form itself states in `_page`, as browsers tell another origin nothing but the page's
 * origin unless the page has them do otherwise; else what Referer says. Undefined: neither says anything.
 */
function plainPage(all: URLSearchParams, request: HttpRequestIn, key: ApiKey): FormRequest['page'] {
  const url = statedAddress(all, request, key) ?? request.headers.referer;
  if (url === undefined || url.length > ADDRESS_CHARACTERS_MAX) return undefined;
  const campaign = CAMPAIGN.flatMap((name): [string, string][] => {
    const value = all.get(name) ?? '';
    return value === '' || value.length > CAMPAIGN_CHARACTERS_MAX ? [] : [[name, value]];
  });
  return { url, ...(campaign.length === 0 ? {} : { campaign: Object.fromEntries(campaign) }) };
}

/** What a form says is its page, where that is of the origin which sent it, or of one that the key may be used from. */
function statedAddress(all: URLSearchParams, request: HttpRequestIn, key: ApiKey): string | undefined {
  const origin = pageOrigin(request);
  const stated = all.get('_page') ?? '';
  const url = stated === '' ? null : URL.parse(stated, origin ?? undefined);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  const isOfSite = url.origin === origin || originRefusal(key, url.origin) === null;
  return isOfSite ? url.href : undefined;
}

/** What browsers send from a page in no other coding, by far (WHATWG Encoding: ISO-8859-1 is read as windows-1252 too). */
const USUAL_CODING = 'windows-1252';

/**
 * The names and values of a plain form. A browser sends them in the coding of its page, and names that in a hidden field
 * `_charset_` where the form has one. Without it they are UTF-8 where all bytes are, else windows-1252.
 */
function readPlainPairs(body: Buffer): URLSearchParams {
  const pairs = body
    .toString('latin1')
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => [pair.split('=', 1)[0] ?? '', pair.slice(pair.indexOf('=') + 1 || pair.length)].map(unescaped));
  const named = pairs.find(([name]) => name?.toString('latin1') === '_charset_')?.[1]?.toString('latin1') ?? '';
  const decoder = decoderOf(named) ?? utf8OrUsual(pairs.flat());
  return new URLSearchParams(
    pairs.map(([name, value]): [string, string] => [decoder.decode(name), decoder.decode(value)]),
  );
}

/** The bytes that a part of the body stands for; what is no escape stands for itself. */
function unescaped(part: string): Buffer {
  const text = part
    .replaceAll('+', ' ')
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(text, 'latin1');
}

/** Null: no coding that a page may have, or UTF-8, which is tried anyway. */
function decoderOf(label: string): TextDecoder | null {
  try {
    const decoder = new TextDecoder(label);
    return decoder.encoding.startsWith('utf-') ? null : decoder;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function utf8OrUsual(parts: readonly Buffer[]): TextDecoder {
  return parts.every(isUtf8) ? new TextDecoder('utf-8', { ignoreBOM: true }) : new TextDecoder(USUAL_CODING);
}
