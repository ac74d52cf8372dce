// POST /v1/form: answers for scripts, and pages for browsers that send a plain form.
import type { HttpReply, HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import { directionOf, panelWords, plainLanguage, plainWords } from '#pipelines/engage/content.ts';
import type { Form } from '#pipelines/engage/form.ts';
import type { EdgeContext } from '../edge_context.ts';
import { type Answer, sendAnswer } from '../errors.ts';
import { wantsPage } from './form_body.ts';
import { createFormIntake, type FormOutcome } from './form_submission.ts';
import { type EngageMount, LATER_S, SPAM_ANSWER } from './submission.ts';

/**
 * POST /v1/form: a form that was filled in. A script gets JSON; a browser that sends a plain form is led to where the
 * definition says, or gets a page.
 */
export function mountForm(app: HttpServer, context: EdgeContext, { parts, rate, hooks }: EngageMount): void {
  const intake = createFormIntake(context, rate, parts);
  app.post('/v1/form', { onRequest: hooks }, async (request, reply) => {
    const judged = await intake(request);
    const limited = await rate.refusal(request, 'answer' in judged ? judged.answer : undefined);
    const outcome = limited === null ? judged : ({ kind: 'refused', answer: limited } as const);
    // A plain form is never asked for a proof, which it could not bring.
    return wantsPage(request) && outcome.kind !== 'challenge'
      ? sendPlain(request, reply, outcome)
      : sendAnswer(reply, answerOf(outcome));
  });
}

function answerOf(outcome: FormOutcome): Answer {
  if (outcome.kind === 'refused') return outcome.answer;
  if (outcome.kind === 'challenge') return { status: 200, body: { accepted: 0, challenge: outcome.challenge } };
  if (outcome.kind === 'invalid') return outcome.answer;
  if (outcome.kind === 'spam' || outcome.kind === 'later') return SPAM_ANSWER;
  const { message, redirect } = outcome.form;
  return {
    status: 200,
    body: {
      accepted: outcome.accepted,
      event_id: outcome.eventId,
      ...(message === '' ? {} : { message }),
      ...(redirect === '' ? {} : { redirect }),
    },
  };
}

/** Where to is the definition's to say, and never the request's. Spam is led where everything else is. */
function sendPlain(
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
