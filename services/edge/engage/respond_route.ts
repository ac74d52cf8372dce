import type { HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import type { EngageNote } from '#infra/redis/engage_memory.ts';
import { circumstancesProblem } from '#pipelines/engage/circumstances_problem.ts';
import { bodyReader, type RespondRequest, respondShape } from '#pipelines/engage/engage_request.ts';
import { checkEngageToken, nonceOf } from '#pipelines/engage/engage_token.ts';
import { missingAnswer } from '#pipelines/engage/missing_answer.ts';
import { type ReadyItem, siteEngage } from '#pipelines/engage/site_engage.ts';
import type { SpamReason } from '#pipelines/engage/spam.ts';
import type { Survey } from '#pipelines/engage/survey.ts';
import { surveyEvent } from '#pipelines/engage/survey_response.ts';
import { itemName } from '#pipelines/engage/visitor_memory.ts';
import { type Answer, refusal, sendAnswer } from '../answer.ts';
import type { EdgeContext } from '../edge_context.ts';
import { acceptEngage, SPAM_ANSWER } from './engage_acceptance.ts';
import { invalidBody, readEngageBody } from './engage_body.ts';
import type { EngageMount } from './engage_parts.ts';
import { judgeResponse } from './response_judge.ts';

const readBody = bodyReader(respondShape);

/** POST /v1/surveys/respond: that a survey was shown, answered in part or whole, or dismissed. */
export function mountRespond(app: HttpServer, context: EdgeContext, { parts, rate, hooks }: EngageMount): void {
  function spamAnswer(reason: SpamReason): Answer {
    parts.spam.found('survey', reason);
    return SPAM_ANSWER;
  }

  async function respond(request: HttpRequestIn): Promise<Answer> {
    const caller = context.callerOf(request);
    const read = readEngageBody(request, readBody);
    if (!read.ok) return read.answer;
    const problem = circumstancesProblem(read.body, { receivedAtMs: context.nowMs(), caller: caller.key.caller });
    if (problem !== null) return invalidBody(problem);
    const siteId = caller.site.site_id;
    const name = itemName('survey', read.body.survey_id);
    const item = siteEngage(context.table.engageItems(siteId)).byName.get(name);
    if (item === undefined) return refusal('engage_unknown');
    const subject = { siteId, name, version: read.body.version };
    const token = checkEngageToken(parts.secret, subject, read.body.token, context.nowMs());
    const nonce = nonceOf(token);
    if (!token.ok && nonce === null) return spamAnswer(token.code);
    const made = surveyEvent(item.definition as Survey, item.version, read.body, parts.secret);
    if (!made.ok) return invalidBody(made.field);
    const missing = missingOf(item, read.body);
    if (missing !== null) return invalidBody(`answers.${missing}`);
    const sent = { caller, token, body: read.body, texts: made.texts };
    const judged = await judgeResponse(request, sent, parts, context.nowMs());
    if (judged.kind === 'spam') return spamAnswer(judged.reason);
    if (judged.kind === 'challenge') {
      parts.spam.challenged();
      return { status: 200, body: { accepted: 0, challenge: judged.challenge } };
    }
    const isAwaited = read.body.status === 'partial' || read.body.status === 'completed';
    const happened = [{ event: made.event, notes: notesOf(read.body), isAwaited }];
    const taken = await acceptEngage(request, caller, happened, rate, parts);
    if (!taken.ok) return taken.answer;
    return { status: 200, body: { accepted: taken.accepted, event_id: made.event.uuid } };
  }

  app.post('/v1/surveys/respond', { onRequest: hooks }, async (request, reply) =>
    sendAnswer(reply, await rate.settle(request, await respond(request))),
  );
}

/** The required question that a response lacks which says that it is whole. Another version may have asked otherwise. */
function missingOf(
  { definition, version }: ReadyItem,
  { status, version: shown, answers }: RespondRequest,
): string | null {
  if (status !== 'completed' || shown !== version) return null;
  return missingAnswer(definition as Survey, answers ?? []);
}

function notesOf({ survey_id, submission_id, status }: RespondRequest): EngageNote[] {
  const name = itemName('survey', survey_id);
  const shown = { kind: 'shown', name, id: submission_id.toLowerCase() } as const;
  return status === 'completed' ? [shown, { kind: 'done', name }] : [shown];
}
