// POST /v1/surveys/respond, and whether a response is spam.
import { clientAddress, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import { surveyEvent } from '#pipelines/engage/engage_event.ts';
import { bodyReader, respondShape } from '#pipelines/engage/engage_request.ts';
import { nonceOf } from '#pipelines/engage/engage_token.ts';
import { missingAnswer } from '#pipelines/engage/next_question.ts';
import { judgeAnswers, type SpamReason } from '#pipelines/engage/spam.ts';
import type { Survey } from '#pipelines/engage/survey.ts';
import { itemName } from '#pipelines/engage/visitor_memory.ts';
import { type Answer, refusal, sendAnswer } from '../errors.ts';
import {
  acceptEngage,
  checkToken,
  digestOf,
  type Engage,
  findShown,
  invalidBody,
  judgeBesideOthers,
  notesOf,
  notTaken,
  problemOf,
  readEngageBody,
  textDigest,
} from './submission.ts';

const readBody = bodyReader(respondShape);

/** POST /v1/surveys/respond: that a survey was shown, answered in part or whole, or dismissed. */
export function mountRespond(app: HttpServer, engage: Engage): void {
  const { context, rate, hooks, secret, addressOf } = engage;
  const spamAnswer = (reason: SpamReason): Answer => notTaken(engage, 'survey', { kind: 'spam', reason });

  async function respond(request: HttpRequestIn): Promise<Answer> {
    const caller = context.callerOf(request);
    const read = readEngageBody(request, readBody);
    if (!read.ok) return read.answer;
    const { body } = read;
    const problem = problemOf(engage, caller, body);
    if (problem !== null) return invalidBody(problem);
    const name = itemName('survey', body.survey_id);
    const shown = findShown(engage, caller, name, body);
    if (shown === null) return refusal('engage_unknown');
    const { token, item } = shown;
    const survey = item.definition as Survey;
    if (!token.ok && nonceOf(token) === null) return spamAnswer(token.code);
    const made = surveyEvent(survey, item.version, body, engage.secret);
    if (!made.ok) return invalidBody(made.field);
    // Another version may have asked otherwise.
    const isWhole = body.status === 'completed' && body.version === item.version;
    const missing = isWhole ? missingAnswer(survey, body.answers ?? []) : null;
    if (missing !== null) return invalidBody(`answers.${missing}`);
    const { visitor, challenge } = body;
    const submitted = {
      token,
      submissionId: body.submission_id.toLowerCase(),
      visitor,
      challenge,
      withoutScript: false,
    };
    const isAnswered = body.status === 'partial' || body.status === 'completed';
    if (isAnswered) {
      const address = addressOf(clientAddress(request));
      const judged = await judgeBesideOthers(engage, caller, submitted, {
        alone: judgeAnswers(token, context.nowMs()),
        counted: {
          // Answers have a count of their own: those who answer a survey may send a form all the same.
          address: address === null ? null : digestOf(secret, `survey\0${address}`),
          text: textDigest(secret, made.texts),
        },
        asksProof: true,
      });
      if (judged.kind !== 'clean') return notTaken(engage, 'survey', judged);
    } else {
      // That a survey was shown or dismissed says nothing that anybody would forge but its number.
      const reason = await checkToken(engage, caller, submitted);
      if (reason !== null) return spamAnswer(reason);
    }
    const notes = notesOf(name, body.submission_id, body.status === 'completed');
    const happened = { event: made.event, notes, isAwaited: isAnswered };
    return acceptEngage(engage, request, [happened], { event_id: made.event.uuid });
  }

  app.post('/v1/surveys/respond', { onRequest: hooks }, async (request, reply) =>
    sendAnswer(reply, await rate.settle(request, await respond(request))),
  );
}
