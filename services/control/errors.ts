// Every error of the control API, and how one is sent.
import type { HttpReply } from '#infra/http/http_server.ts';
import type { Problem } from '#pipelines/settings/problems.ts';

/** Every code an answer of the control API may carry, with its status and message. */
export const CONTROL_ERRORS = {
  body_not_json: { status: 400, message: 'The body is not a JSON object in UTF-8.' },
  settings_invalid: { status: 400, message: 'Some fields cannot be taken; problems lists them.' },
  query_pattern_invalid: { status: 400, message: 'A pattern to match is no regular expression as RE2 has them.' },
  sql_refused: { status: 400, message: 'The SQL is none that is taken; problems says why.' },
  request_malformed: { status: 400, message: 'The request cannot be read, or does not say once which host it is for.' },
  token_missing: { status: 401, message: 'Sign in, or send an admin token: Authorization: Bearer svc_at_...' },
  token_invalid: { status: 401, message: 'The admin token is not known.' },
  token_revoked: { status: 401, message: 'The admin token was revoked.' },
  token_expired: { status: 401, message: 'The admin token has expired.' },
  session_over: { status: 401, message: 'The session has ended: sign in again.' },
  sign_in_refused: { status: 401, message: 'There is no such user with this password, or the user may not sign in.' },
  origin_foreign: { status: 403, message: 'The request comes from a page of another origin.' },
  csrf_missing: {
    status: 403,
    message: 'With a cookie, send X-Svc-CSRF: 1 from a page of this service, whose browser names its origin.',
  },
  oidc_denied: { status: 403, message: 'The provider was not allowed to say who you are.' },
  oidc_refused: { status: 403, message: 'What the provider says of who you are cannot be taken: begin again.' },
  oidc_flow_over: {
    status: 403,
    message: 'This sign-in was not begun in this browser, took too long or was used already: begin again.',
  },
  oidc_not_linked: { status: 403, message: 'No user who may sign in is linked to your account at the provider.' },
  oidc_not_proven: {
    status: 403,
    message: 'The provider does not say that it had you prove who you are just now, so nothing is proven.',
  },
  invitation_over: { status: 403, message: 'The invitation was used, is too old or was taken back: ask for another.' },
  second_factor_needed: {
    status: 403,
    message: 'The password is right; send it again with a code of the second factor.',
  },
  second_factor_required: {
    status: 403,
    message: 'Your role takes a second factor: set one up under /v1/session/totp first.',
  },
  second_factor_refused: { status: 403, message: 'The code is not right, or was used already.' },
  password_refused: { status: 403, message: 'The password is not right.' },
  proof_needed: {
    status: 403,
    message: 'Prove that it is you: send your password to /v1/session/proof, or sign in again, and ask again.',
  },
  permission_missing: { status: 403, message: 'Nobody has given you the role that this takes, in this place.' },
  not_found: { status: 404, message: 'There is no such route.' },
  account_unknown: { status: 404, message: 'There is no such account.' },
  site_unknown: { status: 404, message: 'There is no such site.' },
  key_unknown: { status: 404, message: 'There is no such key.' },
  domain_unknown: { status: 404, message: 'The site has not claimed this domain.' },
  destination_unknown: { status: 404, message: 'The site has no such destination.' },
  event_unknown: { status: 404, message: 'Nothing is known of it: it never came, is on its way, or has aged out.' },
  event_definition_unknown: { status: 404, message: 'The site has no such event definition.' },
  engage_definition_unknown: { status: 404, message: 'The site has no survey, promo or form of this id.' },
  question_unknown: { status: 404, message: 'The site has no saved question of this id.' },
  board_unknown: { status: 404, message: 'The site has no board of this id.' },
  replay_unknown: { status: 404, message: 'There is no such replay.' },
  dead_letter_unknown: { status: 404, message: 'There is no such dead letter: it may have aged out.' },
  query_unknown: { status: 404, message: 'No such query is running: it may have ended.' },
  user_unknown: { status: 404, message: 'There is no such user.' },
  provider_unknown: { status: 404, message: 'There is no such provider.' },
  session_unknown: { status: 404, message: 'You have no such session.' },
  analyst_unknown: { status: 404, message: 'There is no such analyst.' },
  token_unknown: { status: 404, message: 'There is no such admin token.' },
  method_not_allowed: { status: 405, message: 'The route does not take this method; Allow names those it takes.' },
  account_exists: { status: 409, message: 'There is an account of this id already.' },
  site_exists: { status: 409, message: 'There is a site of this id already.' },
  destination_exists: { status: 409, message: 'The site has this destination already.' },
  event_definition_exists: { status: 409, message: 'The site has an event definition of this id already.' },
  engage_definition_exists: { status: 409, message: 'The site has a survey, promo or form of this id already.' },
  question_exists: { status: 409, message: 'The site has a saved question of this id already.' },
  question_on_board: { status: 409, message: 'A board has this question: take it off first.' },
  board_exists: { status: 409, message: 'The site has a board of this id already.' },
  token_exists: { status: 409, message: 'An active admin token has this label already.' },
  user_exists: { status: 409, message: 'There is a user of this id already.' },
  analyst_exists: { status: 409, message: 'There is an analyst of this id already.' },
  oidc_linked_elsewhere: { status: 409, message: 'Your account at the provider is linked to another user.' },
  owner_last: { status: 409, message: 'The last owner of the installation stays: make another one first.' },
  second_factor_exists: { status: 409, message: 'There is a second factor already: remove it first.' },
  second_factor_not_begun: {
    status: 409,
    message: 'No second factor is being set up in this session, or it was begun too long ago: begin again.',
  },
  session_needed: { status: 409, message: 'An admin token has no session: sign in as a user for this.' },
  token_last: { status: 409, message: 'The last active admin token cannot be revoked: issue another one first.' },
  replay_over: { status: 409, message: 'The replay is over or cancelled: ask for a new one instead.' },
  key_not_active: { status: 409, message: 'The key was revoked or has expired: issue a new one instead.' },
  claimed_elsewhere: { status: 409, message: 'Another site has this; problems says what.' },
  person_changed: { status: 409, message: 'Somebody became part of the person, or left it, meanwhile: ask again.' },
  query_cancelled: { status: 409, message: 'The query was cancelled while it ran.' },
  limit_reached: { status: 409, message: 'There are as many of these as there may be.' },
  version_conflict: { status: 412, message: 'It was changed since it was read: read it again and decide anew.' },
  body_too_large: { status: 413, message: 'The body must not exceed 1 MiB, nor 16 KiB where nobody has signed in.' },
  content_type_unsupported: { status: 415, message: 'Send application/json.' },
  host_unknown: {
    status: 421,
    message: 'The service is not known under this host; CONTROL_PUBLIC_URL and CONTROL_HOSTS name those it has.',
  },
  query_too_heavy: { status: 422, message: 'The query takes more time or memory than it may: ask for less.' },
  if_match_missing: { status: 428, message: 'Send If-Match with the ETag that was read, or * to change it as it is.' },
  sign_in_limited: { status: 429, message: 'Too many tries to sign in: wait for as long as Retry-After says.' },
  changes_limited: { status: 429, message: 'You have changed as much in a day as one may: ask again later.' },
  query_busy: { status: 429, message: 'As many queries are under way, or wait, as may: ask again.' },
  internal: { status: 500, message: 'Something unforeseen went wrong.' },
  analysts_not_set_up: {
    status: 501,
    message: 'This service has no user of ClickHouse that may make others; CONTROL_ANALYSTS_URL names one.',
  },
  sql_not_set_up: { status: 501, message: 'This service has no user of ClickHouse that SQL is asked as.' },
  dashboard_not_built: { status: 503, message: 'The dashboard could not be built; the log says why.' },
  settings_not_stored: { status: 503, message: 'It cannot be said that the change was stored: read, and ask again.' },
  sessions_unavailable: { status: 503, message: 'Redis does not answer, so nobody can sign in now. Ask again.' },
  oidc_unavailable: { status: 503, message: 'The provider does not answer, or not as it should. Ask again.' },
  sign_in_busy: { status: 503, message: 'Too many people are signing in at this moment. Ask again.' },
  dns_unavailable: { status: 503, message: 'The name servers do not answer; nothing was changed. Ask again.' },
  data_reads_unavailable: { status: 503, message: 'Kafka does not answer, so who read what is not known. Ask again.' },
  dead_letters_unavailable: { status: 503, message: 'Dead letters cannot be reached now: ask again.' },
  splits_unavailable: {
    status: 503,
    message: 'Redis, Kafka or ClickHouse does not answer. The split may be made or not: ask again.',
  },
  stages_unavailable: { status: 503, message: 'Kafka does not answer, so stages cannot be looked at. Ask again.' },
  tag_health_unavailable: { status: 503, message: 'Redis does not answer; events are still taken. Ask again.' },
  refusals_unavailable: { status: 503, message: 'Redis does not answer; events are still taken. Ask again.' },
  query_unavailable: {
    status: 503,
    message: 'ClickHouse does not answer; events are still taken. Ask again.',
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
