import type { HttpServer } from '#infra/http/http_server.ts';
import { type Answer, sendAnswer } from '../answer.ts';
import type { EdgeContext } from '../edge_context.ts';
import { SPAM_ANSWER } from './engage_acceptance.ts';
import type { EngageMount } from './engage_parts.ts';
import { wantsPage } from './form_body.ts';
import { createFormIntake, type FormOutcome } from './form_intake.ts';
import { sendPlain } from './plain_answers.ts';

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
