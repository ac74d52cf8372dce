import type { HttpReply, HttpServer } from '#infra/http/http_server.ts';
import type { Form } from '#pipelines/engage/form.ts';
import { type Answer, sendAnswer } from '../answer.ts';
import type { EdgeContext, RequestHook } from '../edge_context.ts';
import type { EngageParts } from './engage_parts.ts';
import { isPlainForm } from './form_body.ts';
import { createFormIntake, type FormOutcome } from './form_intake.ts';
import { FORM_PAGE_HEADERS, formPage } from './form_page.ts';

/**
 * POST /v1/form: a form that was filled in. A script gets JSON; a browser that sends a plain form is led to where the
 * definition says, or gets a page.
 */
export function mountForm(app: HttpServer, context: EdgeContext, parts: EngageParts, hooks: RequestHook[]): void {
  const intake = createFormIntake(context, parts);
  app.post('/v1/form', { onRequest: hooks }, async (request, reply) => {
    const outcome = await intake(request);
    return isPlainForm(request) ? sendPlain(reply, outcome) : sendAnswer(reply, answerOf(outcome));
  });
}

function answerOf(outcome: FormOutcome): Answer {
  if (outcome.kind === 'refused') return outcome.answer;
  if (outcome.kind === 'challenge') return { status: 200, body: { accepted: 0, challenge: outcome.challenge } };
  if (outcome.kind === 'invalid') return outcome.answer;
  if (outcome.kind === 'spam') return { status: 200, body: { accepted: 0 } };
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
function sendPlain(reply: HttpReply, outcome: FormOutcome): HttpReply {
  if (outcome.kind === 'refused' || outcome.kind === 'challenge') return sendAnswer(reply, answerOf(outcome));
  const { form } = outcome;
  if (outcome.kind === 'invalid') {
    const address = headerAddress(form.redirect_invalid);
    if (address !== null) return reply.redirect(address, 303);
    return sendPage(reply, 400, form, outcome.labels);
  }
  const address = headerAddress(form.redirect);
  if (address !== null) return reply.redirect(address, 303);
  return sendPage(reply, 200, form, form.message === '' ? [] : [form.message]);
}

/** An address as a header takes it, in ASCII; null: none. */
const headerAddress = (address: string): string | null => URL.parse(address)?.href ?? null;

function sendPage(reply: HttpReply, status: number, form: Form, lines: readonly string[]): HttpReply {
  const heading = form.title === '' ? form.name : form.title;
  return reply
    .code(status)
    .headers(FORM_PAGE_HEADERS)
    .send(formPage(form.locale, heading, lines));
}
