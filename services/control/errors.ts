// Every error of the control API, and how one is sent.
import type { HttpReply } from '#infra/http/http_server.ts';
import type { Problem } from '#pipelines/settings/problems.ts';

/** Every code an answer of the control API may carry, with its status and message. */
export const CONTROL_ERRORS = {
  body_not_json: { status: 400, message: 'The body is not a JSON object in UTF-8.' },
  settings_invalid: { status: 400, message: 'Some fields are invalid; see problems.' },
  query_pattern_invalid: { status: 400, message: 'Invalid regular expression (RE2 syntax).' },
  sql_refused: { status: 400, message: 'The SQL was not accepted; see problems.' },
  request_malformed: { status: 400, message: 'Malformed request, or a missing or duplicate Host header.' },
  token_missing: { status: 401, message: 'Sign in, or send an admin token: Authorization: Bearer svc_at_...' },
  token_invalid: { status: 401, message: 'Unknown admin token.' },
  token_revoked: { status: 401, message: 'The admin token was revoked.' },
  token_expired: { status: 401, message: 'The admin token has expired.' },
  session_over: { status: 401, message: 'Your session has ended. Sign in again.' },
  sign_in_refused: { status: 401, message: 'Wrong user or password, or the user may not sign in.' },
  origin_foreign: { status: 403, message: 'The request comes from another origin.' },
  csrf_missing: {
    status: 403,
    message: 'Requests with a cookie need X-Svc-CSRF: 1 and must come from a page of this service.',
  },
  oidc_denied: { status: 403, message: 'The provider did not grant access to your identity.' },
  oidc_refused: { status: 403, message: "The provider's answer was not valid. Start again." },
  oidc_flow_over: {
    status: 403,
    message: 'This sign-in was started in another browser, has expired or was already used. Start again.',
  },
  oidc_not_linked: { status: 403, message: 'Your account at the provider is not linked to a user who may sign in.' },
  oidc_not_proven: {
    status: 403,
    message: 'The provider did not confirm a recent sign-in.',
  },
  invitation_over: {
    status: 403,
    message: 'The invitation was used, has expired or was withdrawn. Ask for a new one.',
  },
  second_factor_needed: {
    status: 403,
    message: 'The password is correct. Send it again with your second-factor code.',
  },
  second_factor_required: {
    status: 403,
    message: 'Your role requires a second factor. Set one up under /v1/session/totp first.',
  },
  second_factor_refused: { status: 403, message: 'Wrong code, or it was already used.' },
  password_refused: { status: 403, message: 'Wrong password.' },
  proof_needed: {
    status: 403,
    message: 'Confirm your identity: send your password to /v1/session/proof or sign in again, then retry.',
  },
  permission_missing: { status: 403, message: 'You do not have permission to do this here.' },
  not_found: { status: 404, message: 'Route not found.' },
  account_unknown: { status: 404, message: 'Account not found.' },
  site_unknown: { status: 404, message: 'Site not found.' },
  key_unknown: { status: 404, message: 'Key not found.' },
  domain_unknown: { status: 404, message: 'The site has not claimed this domain.' },
  destination_unknown: { status: 404, message: 'The site does not have this destination.' },
  event_unknown: {
    status: 404,
    message: 'Event not found: it never arrived, is still being processed, or has expired.',
  },
  event_definition_unknown: { status: 404, message: 'The site does not have this event definition.' },
  engage_definition_unknown: { status: 404, message: 'The site does not have a survey, promo or form with this id.' },
  question_unknown: { status: 404, message: 'The site does not have a saved question with this id.' },
  board_unknown: { status: 404, message: 'The site does not have a board with this id.' },
  replay_unknown: { status: 404, message: 'Replay not found.' },
  dead_letter_unknown: { status: 404, message: 'Dead letter not found; it may have expired.' },
  query_unknown: { status: 404, message: 'No such query is running; it may have finished.' },
  user_unknown: { status: 404, message: 'User not found.' },
  provider_unknown: { status: 404, message: 'Provider not found.' },
  session_unknown: { status: 404, message: 'Session not found.' },
  analyst_unknown: { status: 404, message: 'Analyst not found.' },
  token_unknown: { status: 404, message: 'Admin token not found.' },
  method_not_allowed: { status: 405, message: 'Method not allowed; Allow lists those that are.' },
  account_exists: { status: 409, message: 'An account with this id already exists.' },
  site_exists: { status: 409, message: 'A site with this id already exists.' },
  destination_exists: { status: 409, message: 'The site already has this destination.' },
  event_definition_exists: { status: 409, message: 'The site already has an event definition with this id.' },
  engage_definition_exists: { status: 409, message: 'The site already has a survey, promo or form with this id.' },
  question_exists: { status: 409, message: 'The site already has a saved question with this id.' },
  question_on_board: { status: 409, message: 'A board uses this question. Remove it from the board first.' },
  board_exists: { status: 409, message: 'The site already has a board with this id.' },
  token_exists: { status: 409, message: 'An active admin token already has this label.' },
  user_exists: { status: 409, message: 'A user with this id already exists.' },
  analyst_exists: { status: 409, message: 'An analyst with this id already exists.' },
  oidc_linked_elsewhere: { status: 409, message: 'Your account at the provider is linked to another user.' },
  owner_last: {
    status: 409,
    message: 'The last owner of the installation cannot be removed. Add another owner first.',
  },
  second_factor_exists: { status: 409, message: 'A second factor is already set up. Remove it first.' },
  second_factor_not_begun: {
    status: 409,
    message: 'No second-factor setup is in progress in this session, or it has expired. Start again.',
  },
  session_needed: { status: 409, message: 'Admin tokens have no session. Sign in as a user.' },
  token_last: { status: 409, message: 'The last active admin token cannot be revoked. Issue another one first.' },
  replay_over: { status: 409, message: 'The replay is finished or cancelled. Create a new one.' },
  key_not_active: { status: 409, message: 'The key is revoked or expired. Issue a new one.' },
  claimed_elsewhere: { status: 409, message: 'Another site already uses this; see problems.' },
  person_changed: { status: 409, message: 'The person changed in the meantime. Retry.' },
  query_cancelled: { status: 409, message: 'The query was cancelled.' },
  limit_reached: { status: 409, message: 'The maximum number has been reached.' },
  version_conflict: { status: 412, message: 'Resource was modified. Reload and retry.' },
  body_too_large: { status: 413, message: 'The body exceeds 1 MiB, or 16 KiB without authentication.' },
  content_type_unsupported: { status: 415, message: 'Send application/json.' },
  host_unknown: {
    status: 421,
    message: 'Unknown Host; CONTROL_PUBLIC_URL and CONTROL_HOSTS configure the accepted ones.',
  },
  query_too_heavy: { status: 422, message: 'The query exceeds its time or memory limit. Narrow it down.' },
  if_match_missing: { status: 428, message: 'Send If-Match with the ETag you read, or * to overwrite any version.' },
  sign_in_limited: { status: 429, message: 'Too many sign-in attempts. Try again after the time in Retry-After.' },
  changes_limited: { status: 429, message: 'You have reached the limit of changes for a day. Try again later.' },
  query_busy: { status: 429, message: 'Too many queries are running. Try again later.' },
  internal: { status: 500, message: 'Internal error.' },
  analysts_not_set_up: {
    status: 501,
    message: 'Analysts are not set up: set CONTROL_ANALYSTS_URL to a ClickHouse user that may create users.',
  },
  sql_not_set_up: { status: 501, message: 'SQL is not set up: no ClickHouse user is configured for it.' },
  dashboard_not_built: { status: 503, message: 'The dashboard could not be built; see the log.' },
  settings_not_stored: { status: 503, message: 'The change may not have been stored. Check and retry.' },
  sessions_unavailable: { status: 503, message: 'Sign-in is unavailable: Redis does not respond. Try again later.' },
  oidc_unavailable: { status: 503, message: 'The provider does not respond correctly. Try again later.' },
  sign_in_busy: { status: 503, message: 'Too many people are signing in. Try again later.' },
  dns_unavailable: { status: 503, message: 'DNS does not respond; nothing was changed. Try again later.' },
  data_reads_unavailable: {
    status: 503,
    message: 'The log of data reads is unavailable: Kafka does not respond. Try again later.',
  },
  dead_letters_unavailable: { status: 503, message: 'Dead letters are unavailable. Try again later.' },
  splits_unavailable: {
    status: 503,
    message: 'Redis, Kafka or ClickHouse does not respond. The split may have been made. Retry.',
  },
  stages_unavailable: {
    status: 503,
    message: 'The state of the stages is unavailable: Kafka does not respond. Try again later.',
  },
  tag_health_unavailable: {
    status: 503,
    message: 'Redis does not respond; events are still accepted. Try again later.',
  },
  refusals_unavailable: { status: 503, message: 'Redis does not respond; events are still accepted. Try again later.' },
  query_unavailable: {
    status: 503,
    message: 'ClickHouse does not respond; events are still accepted. Try again later.',
  },
} as const;
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
