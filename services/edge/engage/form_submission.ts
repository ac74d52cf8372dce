// POST /v1/form: a form is read and judged, and becomes an event; what a browser is shown that sent a plain one.

import { clientAddress, type HttpReply, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import { directionOf, panelWords, plainLanguage, plainWords } from '#pipelines/engage/content.ts';
import { itemName } from '#pipelines/engage/definition_fields.ts';
import { type EngageEvent, formEvent, formStatusEvent, readFields, sentText } from '#pipelines/engage/engage_event.ts';
import type { FormRequest } from '#pipelines/engage/engage_request.ts';
import type { Form } from '#pipelines/engage/form.ts';
import { isWithoutToken, judgeAlone, linksIn } from '#pipelines/engage/spam.ts';
import { canonicalJson } from '#pipelines/intake/json_text.ts';
import { hmacSha256 } from '#pipelines/privacy/hash_identifiers.ts';
import { networkOf, wideNetworkOf } from '#pipelines/privacy/ip_addresses.ts';
import { normaliseEmail } from '#pipelines/privacy/normalise_text.ts';
import { type Answer, errorAnswer, errorCodeOf, refusal, sendAnswer } from '../errors.ts';
import { readFormBody, wantsPage } from './form_body.ts';
import {
  acceptEngage,
  checkToken,
  digestOf,
  type Engage,
  findShown,
  invalidBody,
  judgeBesideOthers,
  LATER_S,
  type NotTaken,
  notesOf,
  notTaken,
  problemOf,
  type Submitted,
  textDigest,
} from './submission.ts';

interface FormProblem {
  name: string;
  code: string;
}

/**
 * What became of a form. `page`: what a browser is shown that sent a plain one; left out: that it is refused; null: what a
 * script is answered, as it is asked for a proof.
 */
interface FormOutcome {
  answer: Answer;
  page?: PlainPage | null;
}

/** A form as it was sent, with what is known of it before it is judged. */
interface SubmittedForm extends Submitted {
  form: Form;
  request: FormRequest;
  version: number;
  /** The token proves that the visitor saw another version than the form is in now. */
  isOfOtherVersion: boolean;
}

/** POST /v1/form: a form that was filled in. A script gets JSON; a browser that sends a plain form is led on, or gets a page. */
export function mountForm(app: HttpServer, engage: Engage): void {
  const { context, rate, hooks, secret, addressOf } = engage;

  function refused(form: Form, judged: NotTaken): FormOutcome {
    const page = judged.kind === 'challenge' ? null : judged.kind === 'later' ? laterPage(form) : takenPage(form);
    return { answer: notTaken(engage, 'form', judged), page };
  }

  async function accepted(
    request: HttpRequestIn,
    { form, submissionId }: SubmittedForm,
    event: EngageEvent,
    isSubmitted: boolean,
  ): Promise<FormOutcome> {
    const { message, redirect } = form;
    const notes = notesOf(itemName('form', form.id), submissionId, isSubmitted);
    const answer = await acceptEngage(engage, request, [{ event, notes, isAwaited: isSubmitted }], {
      event_id: event.uuid,
      ...(message === '' ? {} : { message }),
      ...(redirect === '' ? {} : { redirect }),
    });
    return answer.status === 200 ? { answer, page: takenPage(form) } : { answer };
  }

  async function tell(
    request: HttpRequestIn,
    sent: SubmittedForm,
    status: 'shown' | 'dismissed',
  ): Promise<FormOutcome> {
    const { form, version, submissionId } = sent;
    const reason = await checkToken(engage, context.callerOf(request), sent);
    if (reason !== null) return refused(form, { kind: 'spam', reason });
    return accepted(request, sent, formStatusEvent(form, status, version, submissionId, sent.request), false);
  }

  async function submit(request: HttpRequestIn, sent: SubmittedForm): Promise<FormOutcome> {
    const { form, version, submissionId, token, withoutScript, request: body } = sent;
    const caller = context.callerOf(request);
    const read = readFields(form, body, caller.site.default_country, sent.isOfOtherVersion);
    const { texts, messages } = read.ok ? read : { texts: [], messages: [] };
    const email = emailOf(form, body);
    const emailDomain = email?.slice(email.lastIndexOf('@') + 1) ?? null;
    const honeypot = rawText(body.fields, form.spam.honeypot);
    const nowMs = context.nowMs();
    // By itself before it is counted: so a form that is not right uses up nothing.
    const alone = judgeAlone(form, { withoutScript, token, honeypot, texts, messages, emailDomain, nowMs });
    if (alone.kind === 'spam') return refused(form, alone);
    if (!read.ok) return invalidOutcome(form, read.problems);
    if (alone.kind === 'links') return invalidOutcome(form, linkProblems(form, read.values), true);
    if (alone.kind === 'later') return refused(form, alone);
    const address = addressOf(clientAddress(request));
    const isCounted = isWithoutToken(sent);
    const judged = await judgeBesideOthers(engage, caller, sent, {
      alone,
      counted: {
        address,
        email: email === null ? null : digestOf(secret, email),
        text: textDigest(secret, texts),
        network: isCounted && address !== null ? digestOf(secret, wideNetworkOf(clientAddress(request))) : null,
        form: isCounted ? form.id : null,
      },
      asksProof: form.spam.challenge !== 'off',
    });
    if (judged.kind !== 'clean') return refused(form, judged);
    const event = formEvent(form, read.values, body, { submissionId, version, secret: engage.identitySecret });
    return accepted(request, sent, event, true);
  }

  async function take(request: HttpRequestIn): Promise<FormOutcome> {
    const caller = context.callerOf(request);
    const read = await readFormBody(request, caller);
    if (!read.ok) return read;
    const { form: body, isPlain } = read.body;
    const problem = problemOf(engage, caller, body);
    if (problem !== null) return { answer: invalidBody(problem) };
    const shown = findShown(engage, caller, itemName('form', body.form_id), body);
    if (shown === null) return { answer: refusal('engage_unknown') };
    const { item, version, token } = shown;
    const { status = 'submitted', visitor, challenge } = body;
    const sent: SubmittedForm = {
      ...{ form: item.definition as Form, request: body, version, token, visitor, challenge, withoutScript: isPlain },
      isOfOtherVersion: token.ok && version !== item.version,
      submissionId:
        body.submission_id?.toLowerCase() ?? derivedId(request, caller.site.site_id, body, secret, context.nowMs()),
    };
    return status === 'submitted' ? submit(request, sent) : tell(request, sent, status);
  }

  app.post('/v1/form', { onRequest: hooks }, async (request, reply) => {
    const { answer, page } = await take(request);
    const limited = await rate.refusal(request, answer);
    if (!wantsPage(request) || (limited === null && page === null)) return sendAnswer(reply, limited ?? answer);
    if (limited !== null || !page) return sendPlainRefusal(request, reply, limited ?? answer);
    return sendPlain(reply, page);
  });
}

const DAY_MS = 86_400_000;

/** The id of a form that has none, as a plain one: the same from the same device, and visitor where one is said, is the same for a day. */
function derivedId(
  request: HttpRequestIn,
  siteId: string,
  { form_id, fields, visitor }: FormRequest,
  secret: Buffer,
  nowMs: number,
): string {
  const device = `${networkOf(clientAddress(request))}\0${request.headers['user-agent'] ?? ''}`;
  const day = Math.floor(nowMs / DAY_MS);
  const facts = canonicalJson([siteId, form_id, device, visitor?.distinct_id ?? '', day, fields ?? {}]);
  const hex = hmacSha256(secret, `submission\0${facts}`).toString('hex').slice(0, 32);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function emailOf(form: Form, { fields }: FormRequest): string | null {
  const field = form.fields.find(({ map, type }) => map === 'email' || type === 'email');
  return field === undefined ? null : normaliseEmail(sentText(fields, field.name));
}

function linkProblems(form: Form, values: ReadonlyMap<string, string>): FormProblem[] {
  const messages = form.fields.filter(({ type, name }) => type === 'textarea' && linksIn(values.get(name) ?? '') > 0);
  return messages.map(({ name }) => ({ name, code: 'format' }));
}

function invalidOutcome(form: Form, problems: readonly FormProblem[], hasLinks = false): FormOutcome {
  const { status, body } = errorAnswer('form_invalid');
  const answer = { status, body: { error: { ...body.error, fields: problems } } };
  return { answer, page: invalidPage(form, problems, hasLinks) };
}

/** What a field says that nobody sees: whatever is in it, a space too. */
function rawText(fields: FormRequest['fields'], name: string): string {
  const value = fields !== undefined && Object.hasOwn(fields, name) ? fields[name] : null;
  return String(value ?? '');
}

/** Where to is the definition's to say, and never the request's. */
interface PlainPage {
  form: Form;
  status: number;
  lines: readonly string[];
  /** Null: a page is shown. */
  redirect: string | null;
  retryAfterS?: number;
}

/** Spam gets the same as everything else. */
function takenPage(form: Form): PlainPage {
  const { title, message, locale } = form;
  const { thanks } = panelWords(locale);
  const lines = title === '' ? [thanks, message] : [message || thanks];
  return { form, status: 200, lines, redirect: headerAddress(form.redirect) };
}

/** @param problems Names of fields in the definition with what is wrong of each. */
function invalidPage(form: Form, problems: readonly { name: string; code: string }[], hasLinks: boolean): PlainPage {
  const { failed, links } = plainWords(form.locale);
  const labels = problems.map(({ name }) => labelOf(form, name));
  const lines = [failed, ...(hasLinks ? [links] : []), `${panelWords(form.locale).check}:`, ...labels];
  const reason = problems.map(({ name, code }) => `${name}:${code}`).join();
  return { form, status: 400, lines, redirect: headerAddress(form.redirect_invalid, reason) };
}

/** What the visitor reads beside a field; beside the box for consent it is what they agree to. */
function labelOf({ fields, consent_text }: Form, name: string): string {
  const label = fields.find((field) => field.name === name)?.label ?? consent_text;
  return label === '' ? name : label;
}

function laterPage(form: Form): PlainPage {
  const { failed, later } = plainWords(form.locale);
  return { form, status: 429, lines: [failed, later], redirect: null, retryAfterS: LATER_S };
}

/**
 * A page is under the form's title, or under its first line: what the form is called by those who work with it is not for
 * visitors.
 */
function sendPlain(reply: HttpReply, { form, status, lines, redirect, retryAfterS }: PlainPage): HttpReply {
  if (redirect !== null) return reply.redirect(redirect, 303);
  const [heading = '', ...rest] = [form.title, ...lines].filter((line) => line !== '');
  if (retryAfterS !== undefined) reply.header('retry-after', String(retryAfterS));
  return sendPage(reply, status, formPage(form.locale, heading, rest));
}

/**
 * A refusal as a visitor reads it, in a language of their browser's: nothing is known of the form. What is wrong with the
 * form itself is said as to its author, in English, and names nothing that was sent.
 */
export function sendPlainRefusal({ headers }: HttpRequestIn, reply: HttpReply, answer: Answer): HttpReply {
  const { status, retryAfterS } = answer;
  const language = plainLanguage(headers['accept-language']);
  const { failed, later, unknown, notNow } = plainWords(language);
  if (retryAfterS !== undefined) reply.header('retry-after', String(retryAfterS));
  const isLater = status === 429 || status === 503;
  const isLong = errorCodeOf(answer) === 'not_taken_now';
  const why =
    status === 404 ? [unknown] : isLong ? [notNow] : isLater ? [later] : status === 413 ? [] : authorsLines(answer);
  return sendPage(reply, status, formPage(language, failed, why));
}

function authorsLines({ body }: Answer): string[] {
  const { error } = (body ?? {}) as { error?: { message: string; field?: string } };
  if (error === undefined) return [];
  return [error.message, ...(error.field === undefined ? [] : [error.field])];
}

/** An address as a header takes it, in ASCII, with the reason in its query where there is one; null: none. */
function headerAddress(address: string, reason?: string): string | null {
  const url = URL.parse(address);
  if (reason !== undefined) url?.searchParams.set('svc_invalid', reason);
  return url?.href ?? null;
}

/** What a browser shows after a plain form where the definition leads nowhere: text only, nothing is loaded or run. */
const FORM_PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

const sendPage = (reply: HttpReply, status: number, page: string): HttpReply =>
  reply.code(status).headers(FORM_PAGE_HEADERS).send(page);

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A page of a heading and some lines. */
function formPage(locale: string, heading: string, lines: readonly string[]): string {
  const items = lines.map((line) => `<p>${escaped(line)}</p>`).join('');
  const title = escaped(heading);
  return `<!doctype html><html lang="${escaped(locale)}" dir="${directionOf(locale)}"><meta name="viewport" content="width=device-width"><title>${title}</title><main><h1>${title}</h1>${items}</main></html>`;
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => ENTITIES[one] ?? '');
