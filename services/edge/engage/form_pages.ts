// What a browser is shown that sent a plain form: a page of lines, or another address.
import type { HttpReply, HttpRequestIn } from '#infra/http/http_server.ts';
import { directionOf, panelWords, plainLanguage, plainWords } from '#pipelines/engage/content.ts';
import type { Form } from '#pipelines/engage/form.ts';
import { type Answer, errorCodeOf } from '../errors.ts';
import { LATER_S } from './submission.ts';

/** Where to is the definition's to say, and never the request's. */
export interface PlainPage {
  form: Form;
  status: number;
  lines: readonly string[];
  /** Null: a page is shown. */
  redirect: string | null;
  retryAfterS?: number;
}

/** Spam gets the same as everything else. */
export function takenPage(form: Form): PlainPage {
  const { title, message, locale } = form;
  const { thanks } = panelWords(locale);
  const lines = title === '' ? [thanks, message] : [message || thanks];
  return { form, status: 200, lines, redirect: headerAddress(form.redirect) };
}

/** @param problems Names of fields in the definition with what is wrong of each. */
export function invalidPage(
  form: Form,
  problems: readonly { name: string; code: string }[],
  hasLinks: boolean,
): PlainPage {
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

export function laterPage(form: Form): PlainPage {
  const { failed, later } = plainWords(form.locale);
  return { form, status: 429, lines: [failed, later], redirect: null, retryAfterS: LATER_S };
}

/**
 * A page is under the form's title, or under its first line: what the form is called by those who work with it is not for
 * visitors.
 */
export function sendPlain(reply: HttpReply, { form, status, lines, redirect, retryAfterS }: PlainPage): HttpReply {
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
