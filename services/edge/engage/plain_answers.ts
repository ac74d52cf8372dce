import type { HttpReply, HttpRequestIn } from '#infra/http/http_server.ts';
import type { Form } from '#pipelines/engage/form.ts';
import { panelWords } from '#pipelines/engage/panel_words.ts';
import { plainLanguage, plainWords } from '#pipelines/engage/plain_words.ts';
import { type Answer, sendAnswer } from '../answer.ts';
import type { FormOutcome } from './form_intake.ts';
import { FORM_PAGE_HEADERS, formPage } from './form_page.ts';

/** The other refusals are for whoever wrote the page, and stay JSON. */
const TOLD_TO_VISITORS: ReadonlySet<number> = new Set([404, 413, 429, 503]);
/** When a visitor may send a form again that was one too many. */
const LATER_S = 600;

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

/** A refusal as a visitor reads it, in a language of their browser's: nothing is known of the form. */
export function sendPlainRefusal({ headers }: HttpRequestIn, reply: HttpReply, answer: Answer): HttpReply {
  const { status, retryAfterS } = answer;
  if (!TOLD_TO_VISITORS.has(status)) return sendAnswer(reply, answer);
  const language = plainLanguage(headers['accept-language']);
  const { failed, later, unknown } = plainWords(language);
  if (retryAfterS !== undefined) reply.header('retry-after', String(retryAfterS));
  const why = status === 404 ? [unknown] : status === 429 || status === 503 ? [later] : [];
  return sendPage(reply, status, formPage(language, failed, why));
}

function sendTaken(reply: HttpReply, form: Form): HttpReply {
  const address = headerAddress(form.redirect);
  if (address !== null) return reply.redirect(address, 303);
  return sendPage(reply, 200, formPage(form.locale, headingOf(form), form.message === '' ? [] : [form.message]));
}

function sendInvalid(reply: HttpReply, outcome: Extract<FormOutcome, { kind: 'invalid' }>): HttpReply {
  const { form, labels, hasLinks } = outcome;
  const address = headerAddress(form.redirect_invalid);
  if (address !== null) return reply.redirect(address, 303);
  const { failed, links } = plainWords(form.locale);
  const lines = [failed, ...(hasLinks ? [links] : []), `${panelWords(form.locale).check}:`, ...labels];
  return sendPage(reply, 400, formPage(form.locale, headingOf(form), lines));
}

function sendLater(reply: HttpReply, form: Form): HttpReply {
  const { failed, later } = plainWords(form.locale);
  reply.header('retry-after', String(LATER_S));
  return sendPage(reply, 429, formPage(form.locale, headingOf(form), [failed, later]));
}

const headingOf = ({ title, name }: Form): string => (title === '' ? name : title);

/** An address as a header takes it, in ASCII; null: none. */
const headerAddress = (address: string): string | null => URL.parse(address)?.href ?? null;

const sendPage = (reply: HttpReply, status: number, page: string): HttpReply =>
  reply.code(status).headers(FORM_PAGE_HEADERS).send(page);
