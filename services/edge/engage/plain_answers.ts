import type { HttpReply, HttpRequestIn } from '#infra/http/http_server.ts';
import type { Form } from '#pipelines/engage/form.ts';
import { panelWords } from '#pipelines/engage/panel_words.ts';
import { plainLanguage, plainWords } from '#pipelines/engage/plain_words.ts';
import type { Answer } from '../answer.ts';
import { LATER_S } from './engage_acceptance.ts';
import type { FormOutcome } from './form_intake.ts';
import { FORM_PAGE_HEADERS, formPage } from './form_page.ts';

/** Where to is the definition's to say, and never the request's. Spam is led where everything else is. */
export function sendPlain(
  request: HttpRequestIn,
  reply: HttpReply,
  outcome: Exclude<FormOutcome, { kind: 'challenge' }>,
): HttpReply {
  switch (outcome.kind) {
    case 'refused':
      return sendPlainRefusal(request, reply, outcome.answer);
    case 'later':
      return sendLater(reply, outcome.form);
    case 'invalid':
      return sendInvalid(reply, outcome);
    case 'taken':
    case 'spam':
      return sendTaken(reply, outcome.form);
  }
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
  const isLong = codeOf(answer) === 'not_taken_now';
  const why =
    status === 404 ? [unknown] : isLong ? [notNow] : isLater ? [later] : status === 413 ? [] : authorsLines(answer);
  return sendPage(reply, status, formPage(language, failed, why));
}

type ErrorBody = { error?: { code: string; message: string; field?: string } } | null;

const codeOf = ({ body }: Answer): string | undefined => (body as ErrorBody)?.error?.code;

function authorsLines({ body }: Answer): string[] {
  const { error } = (body as ErrorBody) ?? {};
  if (error === undefined) return [];
  return [error.message, ...(error.field === undefined ? [] : [error.field])];
}

function sendTaken(reply: HttpReply, form: Form): HttpReply {
  const address = headerAddress(form.redirect);
  if (address !== null) return reply.redirect(address, 303);
  const { title, message, locale } = form;
  const { thanks } = panelWords(locale);
  return sendTitled(reply, 200, form, title === '' ? [thanks, message] : [message || thanks]);
}

function sendInvalid(reply: HttpReply, outcome: Extract<FormOutcome, { kind: 'invalid' }>): HttpReply {
  const { form, labels, hasLinks } = outcome;
  const address = headerAddress(form.redirect_invalid, reasonOf(outcome));
  if (address !== null) return reply.redirect(address, 303);
  const { failed, links } = plainWords(form.locale);
  const lines = [failed, ...(hasLinks ? [links] : []), `${panelWords(form.locale).check}:`, ...labels];
  return sendTitled(reply, 400, form, lines);
}

function sendLater(reply: HttpReply, form: Form): HttpReply {
  const { failed, later } = plainWords(form.locale);
  reply.header('retry-after', String(LATER_S));
  return sendTitled(reply, 429, form, [failed, later]);
}

/** A page under the form's title, or under its first line: what the form is called by those who work with it is not for visitors. */
function sendTitled(reply: HttpReply, status: number, { title, locale }: Form, lines: readonly string[]): HttpReply {
  const [heading = '', ...rest] = [title, ...lines].filter((line) => line !== '');
  return sendPage(reply, status, formPage(locale, heading, rest));
}

/** Why a form was not taken: the names of its fields in the definition with the code of each, as `email:format`. */
const reasonOf = ({ problems }: Extract<FormOutcome, { kind: 'invalid' }>): string =>
  problems.map(({ name, code }) => `${name}:${code}`).join();

/** An address as a header takes it, in ASCII, with the reason in its query where there is one; null: none. */
function headerAddress(address: string, reason?: string): string | null {
  const url = URL.parse(address);
  if (reason !== undefined) url?.searchParams.set('svc_invalid', reason);
  return url?.href ?? null;
}

const sendPage = (reply: HttpReply, status: number, page: string): HttpReply =>
  reply.code(status).headers(FORM_PAGE_HEADERS).send(page);
