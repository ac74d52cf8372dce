import { accountUsageRoute } from './account_usage.ts';
import { accountRoutes } from './accounts.ts';
import { actorQueryRoutes } from './actor_queries.ts';
import { analystRoutes } from './analyst_routes.ts';
import { auditRoutes } from './audit.ts';
import { deadLetterRoutes } from './dead_letters.ts';
import { deliveryHealthRoutes } from './delivery_health.ts';
import { destinationTestRoute } from './destination_test.ts';
import { destinationRoutes } from './destinations.ts';
import { domainRoutes } from './domains.ts';
import { engageRoutes } from './engage_routes.ts';
import type { ControlErrorCode } from './errors.ts';
import { definitionRoutes } from './event_definitions.ts';
import { eventTraceRoutes } from './event_routes.ts';
import { installationRoute } from './installation.ts';
import { keyRoutes } from './keys.ts';
import { letterResolutionRoutes } from './letter_resolutions.ts';
import { loaderPrefixRoutes } from './loader_prefix.ts';
import { newestAttemptsRoute } from './newest_attempts.ts';
import { oidcRoutes } from './oidc_routes.ts';
import { ownSessionRoutes } from './own_session.ts';
import { queryRoutes } from './query.ts';
import { refusalRoutes } from './refusals.ts';
import { replayRoutes } from './replays.ts';
import type { Route } from './route.ts';
import { runningRoutes } from './running_routes.ts';
import { savedAnswerRoute } from './saved_answer.ts';
import { savedRoutes } from './saved_routes.ts';
import { proofRoute } from './session_proof.ts';
import { sessionRoutes } from './session_routes.ts';
import { siteRoutes } from './sites.ts';
import { splitRoutes } from './split_routes.ts';
import { sqlRoute } from './sql_route.ts';
import { stageRoute } from './stages.ts';
import { tagHealthRoutes } from './tag_health.ts';
import { tokenRoutes } from './tokens.ts';
import { userRoutes } from './user_routes.ts';

/** Every route but those that say of the service itself. */
export const ROUTES: readonly Route[] = [
  ...sessionRoutes,
  proofRoute,
  ...oidcRoutes,
  ...ownSessionRoutes,
  ...userRoutes,
  ...accountRoutes,
  accountUsageRoute,
  installationRoute,
  ...siteRoutes,
  ...definitionRoutes,
  ...engageRoutes,
  ...domainRoutes,
  ...splitRoutes,
  ...loaderPrefixRoutes,
  ...tagHealthRoutes,
  ...refusalRoutes,
  ...keyRoutes,
  ...destinationRoutes,
  ...deliveryHealthRoutes,
  newestAttemptsRoute,
  destinationTestRoute,
  ...replayRoutes,
  ...deadLetterRoutes,
  ...letterResolutionRoutes,
  stageRoute,
  ...tokenRoutes,
  ...auditRoutes,
  ...runningRoutes,
  ...analystRoutes,
  ...queryRoutes,
  ...actorQueryRoutes,
  ...eventTraceRoutes,
  sqlRoute,
  ...savedRoutes,
  savedAnswerRoute,
];

const ALWAYS: readonly ControlErrorCode[] = [
  'request_malformed',
  'settings_invalid',
  'host_unknown',
  'origin_foreign',
  'internal',
];
const OF_CALLERS: readonly ControlErrorCode[] = [
  'token_missing',
  'token_invalid',
  'token_revoked',
  'token_expired',
  'session_over',
  'sessions_unavailable',
];
const WITH_BODY: readonly ControlErrorCode[] = ['body_not_json', 'body_too_large', 'content_type_unsupported'];

/** Every code that a route may answer. */
export function errorsOf(route: Route): ControlErrorCode[] {
  const writes =
    route.method !== 'GET' && route.ask === undefined && route.inSession === undefined && route.gather === undefined;
  const isStored = writes || route.errors.includes('settings_not_stored');
  return [
    ...ALWAYS,
    ...(route.access === 'open' ? [] : OF_CALLERS),
    ...(typeof route.access === 'string' ? [] : (['permission_missing'] as const)),
    ...(route.method === 'GET' || route.access === 'open' ? [] : (['csrf_missing'] as const)),
    ...(route.needsProof === undefined ? [] : (['proof_needed'] as const)),
    ...(route.method === 'GET' ? [] : WITH_BODY),
    ...route.errors,
    ...(route.ifMatch === 'none' ? [] : (['version_conflict'] as const)),
    ...(route.ifMatch === 'required' ? (['if_match_missing'] as const) : []),
    ...(writes ? (['settings_not_stored'] as const) : []),
    ...(isStored && route.access !== 'open' ? (['changes_limited'] as const) : []),
  ];
}
