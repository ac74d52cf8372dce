// POST /v1/surveys/respond, and whether a response is spam.
import { clientAddress, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import type { Impression } from '#infra/redis/engage/engage.ts';
import { circumstancesProblem, surveyEvent } from '#pipelines/engage/engage_event.ts';
import { bodyReader, type RespondRequest, respondShape } from '#pipelines/engage/engage_request.ts';
import { type Challenge, checkEngageToken, nonceOf, type TokenCheck } from '#pipelines/engage/engage_token.ts';
import { missingAnswer } from '#pipelines/engage/next_question.ts';
import { type ReadyItem, siteEngage } from '#pipelines/engage/site_engage.ts';
import { judgeAmongOthers, judgeAnswers, type SpamReason, type SpamVerdict } from '#pipelines/engage/spam.ts';
import type { Survey } from '#pipelines/engage/survey.ts';
import { itemName } from '#pipelines/engage/visitor_memory.ts';
import type { EdgeContext } from '../edge_context.ts';
import { type Answer, refusal, sendAnswer } from '../errors.ts';
import type { IngestCaller } from '../ingest_service.ts';
import {
  acceptEngage,
  challengeFor,
  checkToken,
  countSubmission,
  digestOf,
  type EngageMount,
  type EngageParts,
  invalidBody,
  readEngageBody,
  SPAM_ANSWER,
  textDigest,
} from './submission.ts';

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

function notesOf({ survey_id, submission_id, status }: RespondRequest): Impression[] {
  const name = itemName('survey', survey_id);
  const shown = { kind: 'shown', name, id: submission_id.toLowerCase() } as const;
  return status === 'completed' ? [shown, { kind: 'done', name }] : [shown];
}

/** A response to a survey whose token is ours and at most a week old, and which is right by the survey's questions. */
interface RightResponse {
  caller: IngestCaller;
  token: TokenCheck;
  body: RespondRequest;
  /** What was written in answer to open questions. */
  texts: readonly string[];
}

type ResponseJudgement =
  | { kind: 'clean' }
  | { kind: 'spam'; reason: SpamReason }
  | { kind: 'challenge'; challenge: Challenge };

/** Whether a response is spam. That a survey was shown or dismissed says nothing that anybody would forge but its number. */
async function judgeResponse(
  request: HttpRequestIn,
  sent: RightResponse,
  parts: EngageParts,
  nowMs: number,
): Promise<ResponseJudgement> {
  const { caller, token, body } = sent;
  const submissionId = body.submission_id.toLowerCase();
  if (body.status !== 'partial' && body.status !== 'completed') {
    const reason = await checkToken(parts, caller, token, submissionId, body.visitor);
    return reason === null ? { kind: 'clean' } : { kind: 'spam', reason };
  }
  const others = await amongOthers(request, sent, parts);
  const verdict = others.kind === 'clean' ? judgeAnswers(token, nowMs) : others;
  if (verdict.kind === 'spam') return { kind: 'spam', reason: verdict.reason };
  const challenge = verdict.kind === 'doubt' ? challengeFor(parts, submissionId, body.challenge, nowMs) : null;
  return challenge === null ? { kind: 'clean' } : { kind: 'challenge', challenge };
}

/** Answers have a count of their own: those who answer a survey may send a form all the same. */
async function amongOthers(
  request: HttpRequestIn,
  { caller, token, body, texts }: RightResponse,
  parts: EngageParts,
): Promise<SpamVerdict> {
  const { secret, addressOf } = parts;
  const address = addressOf(clientAddress(request));
  const sent = { token, submissionId: body.submission_id, visitor: body.visitor };
  const counts = await countSubmission(parts, caller, sent, {
    address: address === null ? null : digestOf(secret, `survey\0${address}`),
    text: textDigest(secret, texts),
  });
  return counts === null ? { kind: 'clean' } : judgeAmongOthers({ token, withoutScript: false }, counts);
}
