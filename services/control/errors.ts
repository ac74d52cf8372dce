// Every error of the control API, and how one is sent.

import type { HttpReply } from '#infra/http/http_server.ts';
import { withStatus } from '#infra/http/http_server.ts';

import type { Problem } from '#pipelines/settings/problems.ts';

/** Every code an answer of the control API may carry, with its status and message. */
export const CONTROL_ERRORS = {
  ...withStatus(400, {
    body_not_json: 'The body is not a JSON object in UTF-8.',
    settings_invalid: 'Some fields are invalid; see problems.',
    query_pattern_invalid: 'Invalid regular expression (RE2 syntax).',
    sql_refused: 'The SQL was not accepted; see problems.',
    request_malformed: 'Malformed request, or a missing or duplicate Host header.',
  }),
  ...withStatus(401, {
    token_missing: 'Sign in, or send an admin token: Authorization: Bearer svc_at_...',
    token_invalid: 'Unknown admin token.',
    token_revoked: 'The admin token was revoked.',
    token_expired: 'The admin token has expired.',
    session_over: 'Your session has ended. Sign in again.',
    sign_in_refused: 'Wrong user or password, or the user may not sign in.',
  }),
  ...withStatus(403, {
    origin_foreign: 'The request comes from another origin.',
    csrf_missing: 'Requests with a cookie need X-Svc-CSRF: 1 and must come from a page of this service.',
    oidc_denied: 'The provider did not grant access to your identity.',
    oidc_refused: "The provider's answer was not valid. Start again.",
    oidc_flow_over: 'This sign-in was started in another browser, has expired or was already used. Start again.',
    oidc_not_linked: 'Your account at the provider is not linked to a user who may sign in.',
    oidc_not_proven: 'The provider did not confirm a recent sign-in.',
    invitation_over: 'The invitation was used, has expired or was withdrawn. Ask for a new one.',
    second_factor_needed: 'The password is correct. Send it again with your second-factor code.',
    second_factor_required: 'Your role requires a second factor. Set one up under /v1/session/totp first.',
    second_factor_refused: 'Wrong code, or it was already used.',
    password_refused: 'Wrong password.',
    proof_needed: 'Confirm your identity: send your password to /v1/session/proof or sign in again, then retry.',
    permission_missing: 'You do not have permission to do this here.',
  }),
  ...withStatus(404, {
    not_found: 'Route not found.',
    account_unknown: 'Account not found.',
    site_unknown: 'Site not found.',
    key_unknown: 'Key not found.',
    domain_unknown: 'The site has not claimed this domain.',
    destination_unknown: 'The site does not have this destination.',
    event_unknown: 'Event not found: it never arrived, is still being processed, or has expired.',
    event_definition_unknown: 'The site does not have this event definition.',
    engage_definition_unknown: 'The site does not have a survey, promo or form with this id.',
    question_unknown: 'The site does not have a saved question with this id.',
    board_unknown: 'The site does not have a board with this id.',
    cohort_unknown:
      'The site does not have a cohort with this id; a question or another cohort may name one that was removed.',
    share_unknown: 'The link does not exist, has expired or was revoked.',
    alert_unknown: 'The site does not have an alert with this id.',
    replay_unknown: 'Replay not found.',
    erasure_unknown: 'Erasure not found.',
    dead_letter_unknown: 'Dead letter not found; it may have expired.',
    query_unknown: 'No such query is running; it may have finished.',
    user_unknown: 'User not found.',
    provider_unknown: 'Provider not found.',
    session_unknown: 'Session not found.',
    analyst_unknown: 'Analyst not found.',
    token_unknown: 'Admin token not found.',
  }),
  ...withStatus(405, { method_not_allowed: 'Method not allowed; Allow lists those that are.' }),
  ...withStatus(409, {
    account_exists: 'An account with this id already exists.',
    site_exists: 'A site with this id already exists.',
    site_erased: 'A site with this id was erased less than 60 days ago. Choose another id.',
    destination_exists: 'The site already has this destination.',
    event_definition_exists: 'The site already has an event definition with this id.',
    engage_definition_exists: 'The site already has a survey, promo or form with this id.',
    question_exists: 'The site already has a saved question with this id.',
    question_on_board: 'A board uses this question. Remove it from the board first.',
    board_exists: 'The site already has a board with this id.',
    cohort_exists: 'The site already has a cohort with this id.',
    cohort_in_use: 'Another cohort or an alert uses this one. Change that first.',
    cohort_no_list: 'The cohort is one by conditions: it has no list.',
    alert_exists: 'The site already has an alert with this id.',
    token_exists: 'An active admin token already has this label.',
    user_exists: 'A user with this id already exists.',
    rates_base_differs: 'The rates that are loaded are against another currency. Take them back first.',
    analyst_exists: 'An analyst with this id already exists.',
    oidc_linked_elsewhere: 'Your account at the provider is linked to another user.',
    owner_last: 'The last owner of the installation cannot be removed. Add another owner first.',
    second_factor_exists: 'A second factor is already set up. Remove it first.',
    second_factor_not_begun: 'No second-factor setup is in progress in this session, or it has expired. Start again.',
    session_needed: 'Admin tokens have no session. Sign in as a user.',
    token_last: 'The last active admin token cannot be revoked. Issue another one first.',
    replay_over: 'The replay is finished or cancelled. Create a new one.',
    key_not_active: 'The key is revoked or expired. Issue a new one.',
    claimed_elsewhere: 'Another site already uses this; see problems.',
    person_changed: 'The person changed in the meantime. Retry.',
    query_cancelled: 'The query was cancelled.',
    share_not_shown: 'The question is about single persons or events, or in SQL: no link shows it.',
    limit_reached: 'The maximum number has been reached.',
  }),
  ...withStatus(412, { version_conflict: 'Resource was modified. Reload and retry.' }),
  ...withStatus(413, { body_too_large: 'The body exceeds 1 MiB, or 16 KiB without authentication.' }),
  ...withStatus(415, { content_type_unsupported: 'Send application/json.' }),
  ...withStatus(421, {
    host_unknown: 'Unknown Host; CONTROL_PUBLIC_URL and CONTROL_HOSTS configure the accepted ones.',
  }),
  ...withStatus(422, { query_too_heavy: 'The query exceeds its time or memory limit. Narrow it down.' }),
  ...withStatus(428, { if_match_missing: 'Send If-Match with the ETag you read, or * to overwrite any version.' }),
  ...withStatus(429, {
    sign_in_limited: 'Too many sign-in attempts. Try again after the time in Retry-After.',
    changes_limited: 'You have reached the limit of changes for a day. Try again later.',
    share_limited: 'Too many requests for shared links. Try again after the time in Retry-After.',
    query_busy: 'Too many queries are running. Try again later.',
  }),
  ...withStatus(500, { internal: 'Internal error.' }),
  ...withStatus(501, {
    analysts_not_set_up:
      'Analysts are not set up: set CONTROL_ANALYSTS_URL to a ClickHouse user that may create users.',
    sql_not_set_up: 'SQL is not set up: no ClickHouse user is configured for it.',
  }),
  ...withStatus(503, {
    dashboard_not_built: 'The dashboard could not be built; see the log.',
    settings_not_stored: 'The change may not have been stored. Check and retry.',
    shares_unavailable: 'Shared links are unavailable: Redis does not respond. Try again later.',
    sessions_unavailable: 'Sign-in is unavailable: Redis does not respond. Try again later.',
    oidc_unavailable: 'The provider does not respond correctly. Try again later.',
    sign_in_busy: 'Too many people are signing in. Try again later.',
    dns_unavailable: 'DNS does not respond; nothing was changed. Try again later.',
    data_reads_unavailable: 'The log of data reads is unavailable: Kafka does not respond. Try again later.',
    dead_letters_unavailable: 'Dead letters are unavailable. Try again later.',
    person_data_unavailable: 'Redis, Kafka or ClickHouse does not respond. Try again later.',
    splits_unavailable: 'Redis, Kafka or ClickHouse does not respond. The split may have been made. Retry.',
    stages_unavailable: 'The state of the stages is unavailable: Kafka does not respond. Try again later.',
    tag_health_unavailable: 'Redis does not respond; events are still accepted. Try again later.',
    refusals_unavailable: 'Redis does not respond; events are still accepted. Try again later.',
    query_unavailable: 'ClickHouse does not respond; events are still accepted. Try again later.',
  }),
};
export type ControlErrorCode = keyof typeof CONTROL_ERRORS;

/** Seconds a client should wait after a 503. */
const RETRY_AFTER_S = 2;

interface ErrorAnswer {
  status: number;
  body: { error: { code: ControlErrorCode; message: string }; problems?: Problem[] };
}

/** The answer for a code; `message` takes the place of the table's where more can be said. */
function errorAnswer(code: ControlErrorCode, problems: Problem[] = [], message?: string): ErrorAnswer {
  const { status, message: standard } = CONTROL_ERRORS[code];
  const error = { code, message: message ?? standard };
  return { status, body: problems.length === 0 ? { error } : { error, problems } };
}

/** Sends a refusal; `waitMs` is how long to wait before asking again, where that is known. */
export function refuse(
  reply: HttpReply,
  code: ControlErrorCode,
  problems: readonly Problem[] = [],
  waitMs: number | null = null,
): HttpReply {
  const { status, body } = errorAnswer(code, [...problems]);
  if (waitMs !== null) reply.header('retry-after', String(Math.ceil(waitMs / 1000)));
  else if (status === 503) reply.header('retry-after', String(RETRY_AFTER_S));
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  return reply.code(status).send(body);
}
