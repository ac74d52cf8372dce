// Answers a request of a route: reads and checks its input, judges who asks, runs it, and sends what came of it.

import { isUtf8 } from 'node:buffer';
import type { QueryCaller } from '#infra/clickhouse/queries/running_queries.ts';
import { clientAddress, type HttpReply, type HttpRequestIn } from '#infra/http/http_server.ts';
import type { RequestErrors } from '#infra/http/request_errors.ts';
import type { KeyUseView } from '#infra/redis/edge_reports.ts';
import type { MonthUseView } from '#infra/redis/quota/quota.ts';
import { SESSION_MS_MAX } from '#infra/redis/sessions.ts';
import { removeErasedSite } from '#infra/settings/journal.ts';
import { withoutByteOrderMark } from '#pipelines/intake/json_text.ts';
import { networkOf, wideNetworkOf } from '#pipelines/privacy/ip_addresses.ts';
import { may, type Place, type Principal } from '#pipelines/settings/access.ts';
import {
  canonicalDomain,
  type DnsResolver,
  domainRecords,
  findProof,
  type ProofFinding,
} from '#pipelines/settings/domains.ts';
import { auditedRecords, type SettingsView } from '#pipelines/settings/journal.ts';
import type { Problem } from '#pipelines/settings/problems.ts';
import { openedShare, readerOf } from '#pipelines/settings/share_links.ts';
import { accountKey, siteKey } from '#pipelines/settings/table.ts';
import type { ShareLink } from '#schemas/setting.ts';
import type { DataReadAudit, ListDataReads } from './audit/routes.ts';
import {
  authorizerFor,
  bearerOf,
  type Caller,
  cookieValue,
  type Judge,
  missingPermission,
  type OwnNames,
  oidcCookieFor,
  sessionCookieFor,
  setCookie,
} from './auth.ts';
import { type ChangePlan, commitAs, noteAs } from './changes.ts';
import type { LoadDashboard } from './dashboard_files.ts';
import { type ControlErrorCode, refuse } from './errors.ts';
import { formatOf } from './queries/formats.ts';
import type { DeadLettersFor } from './redelivery/dead_letter_routes.ts';
import {
  type ControlServices,
  type Input,
  type Outcome,
  type Refused,
  type RequestContext,
  type Route,
  readQuery,
  refused,
  type SessionAnswer,
  schemaProblems,
} from './route.ts';
import { FLOW_MS } from './users/oidc.ts';
import { isRecentlyAuthenticated } from './users/own_session.ts';
import { reachedOr, type SignInParts } from './users/sign_in.ts';

/** A request, with what its schemas have checked of it. */
interface Call {
  options: ControlOptions;
  route: Route;
  input: Input;
  reply: HttpReply;
}

/** One of somebody who may ask it; `judge` judges again whether they may. */
interface KnownCall extends Call {
  caller: Caller;
  judge: Judge;
}

/** Answers a request of a route: reads its input, does what it asks for, and sends what came of it. */
export async function answer(
  options: ControlOptions,
  route: Route,
  arrived: Caller | null,
  request: HttpRequestIn,
  reply: HttpReply,
): Promise<HttpReply> {
  const read = readInput(route, request);
  if (!read.ok) return refuse(reply, read.code, read.problems);
  const call = { options, route, input: read.input, reply };
  if (route.access === 'shared') return answerShared(call);
  if (arrived === null) return answerSession(call, null);
  if (await lacksReauthentication(call, arrived)) return refuse(reply, 'proof_needed');
  const judge = authorizerFor(route.access, read.input, arrived, options);
  const judged = judge(options.journal.view());
  if (!judged.ok) {
    const { place, code } = judged;
    return place === null ? refuse(reply, code) : denyMissingPermission(call, arrived.principal, place);
  }
  const known = { ...call, caller: judged.caller, judge };
  if (route.inSession !== undefined) return answerSession(call, known);
  if (route.prepare !== undefined) return answerQuery(known);
  return route.gather === undefined ? answerSettings(known) : answerGathered(known);
}

/**
 * Whether somebody in a session would do what a session that was found open must not be enough for. Tokens are asked for no
 * proof, and neither is who may not do it anyway.
 */
async function lacksReauthentication(
  { options, route: { access, requiresReauthentication }, input }: Call,
  { principal, session }: Caller,
): Promise<boolean> {
  const view = options.journal.view();
  if (session === null || requiresReauthentication?.(input, { view, adapters: options.adapters }) !== true)
    return false;
  if (missingPermission(access, input, principal, view) !== null) return false;
  return !(await isRecentlyAuthenticated(options, session));
}

/** Says who may do what in 403, and keeps it in the audit. */
function denyMissingPermission(
  { options, route, reply }: Call,
  principal: Principal,
  place: Place | 'listed',
): HttpReply {
  options.signInAudit.permissionRefused(principal, route.operationId, keyOfPlace(place));
  return refuse(reply, 'permission_missing');
}

function keyOfPlace(place: Place | 'listed'): string {
  if (typeof place === 'string') return 'permission';
  return 'site' in place ? siteKey(place.site) : accountKey(place.account);
}

async function answerSettings(call: KnownCall): Promise<HttpReply> {
  const { options, route, caller, judge, input, reply } = call;
  const { run = () => refused('not_found') } = route;
  if (route.showsKeyUse === true) await options.keyUse.refresh();
  if (route.showsMonthUse === true) await refreshMonthUse(options);
  const proofFinding = route.looksForProof === true ? await proofFor(options, input) : null;
  const outcome = await (route.method === 'GET'
    ? shown()
    : changing(call)((world) => run(input, { ...world, proofFinding })));
  if (outcome.kind === 'refused') return refuseLate(call, outcome);
  const { body, version } = outcome.show(options.journal.view());
  if (version !== undefined) reply.header('etag', `"${version}"`);
  const { analysts, cohortLists } = options;
  const sources = { analysts, cohortLists, note: noting(call) };
  const beside = await route.beside?.(
    input,
    sources,
    worldOf(options, options.journal.view(), caller.principal),
    outcome,
  );
  return reply.code(route.success.status).send({ ...body, ...beside });

  function shown(): Outcome {
    const world = worldNow(options, judge);
    return 'kind' in world ? world : run(input, world);
  }
}

/** Changes settings by what a function makes of the world, by who asks as they are then. */
const changing =
  ({ options, route, judge }: KnownCall): ControlServices['change'] =>
  (run) =>
    commitAs(options, judge, (view, now): ChangePlan<Outcome> => {
      const result = run(worldOf(options, view, now));
      const facts = result.kind === 'done' ? result.facts : [];
      const records = auditedRecords(view, facts, now.actor, options.nowMs());
      return { records, result, protects: route.protects === true };
    });

/** Only of a domain that the site has claimed: the name servers are asked for no others. */
async function proofFor(
  { journal, dns, domainRules }: ControlOptions,
  { params }: Input,
): Promise<ProofFinding | null> {
  const { site_id, domain } = params as { site_id: string; domain: string };
  const name = canonicalDomain(domain) ?? '';
  const isClaimed = journal.view().table.site(site_id)?.domains.includes(name) === true;
  return isClaimed ? findProof(domainRecords(site_id, name, domainRules.cnameTarget), dns) : null;
}

async function refreshMonthUse({ monthUse, journal }: ControlOptions): Promise<void> {
  const accounts = journal.view().table.accounts();
  await monthUse.refresh(accounts.map(({ account_id }) => account_id));
}

function worldOf(options: ControlOptions, view: SettingsView, principal: Principal): RequestContext {
  return {
    ...options,
    view,
    nowMs: options.nowMs(),
    principal,
    may: (permission, place) => may(principal, permission, place, view.table),
    lastUsed: options.keyUse.lastUsed,
    monthUsed: options.monthUse.used,
    proofFinding: null,
  };
}

/** The world with who asks as they are now, or why they may not ask it any more. */
function worldNow(options: ControlOptions, judge: Judge): RequestContext | Refused {
  const view = options.journal.view();
  const judged = judge(view);
  return judged.ok ? worldOf(options, view, judged.caller.principal) : refused(judged.code);
}

/** Who asks, for as long as the connection is there that the answer goes to. */
function askerOf(label: string, reply: HttpReply): QueryCaller {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return { label, signal: gone.signal };
}

async function answerQuery({ options, route, caller: { principal }, input, reply }: KnownCall): Promise<HttpReply> {
  const world = worldOf(options, options.journal.view(), principal);
  const query = route.prepare?.(input, world) ?? refused('not_found');
  if (query.kind === 'refused') return refuse(reply, query.code, query.problems);
  const format = formatOf(input.query, reply.request.headers.accept);
  const answered = await options.queries.write(query, format, askerOf(principal.actor, reply));
  if (!answered.ok) return refuse(reply, answered.code, answered.problems);
  const { siteId: site_id } = query;
  const kind = query.kind === 'sql' ? 'sql' : query.about;
  if (query.kind === 'sql' || query.ofPersons) {
    options.dataReads.read({ read_by: principal.actor, site_id, kind, format, rows: answered.rows });
  }
  return reply.type(answered.contentType).send(answered.body);
}

/** Anybody may open a link, as often as its limits let them: those of one minute have one answer. */
const SHARED_CACHE_MS = 60_000;

/**
 * Answers whoever has a shared link. Its limits come first, so that guessing is limited as well, and whether it still works is
 * looked at again when the answer is there: what was revoked meanwhile is not sent, be it cached or not.
 */
async function answerShared({ options, route, input, reply }: Call): Promise<HttpReply> {
  const { shareUse, nowMs, signInAudit } = options;
  const { link_id } = input.params as { link_id: string };
  const secret = bearerOf(reply.request.headers.authorization);
  const find = (): ShareLink | null => openedShare(options.journal.view().table, link_id, secret, nowMs());
  const link = find();
  const waitMs = await reachedOr(
    shareUse.admit(networkOf(clientAddress(reply.request)), link?.link_id ?? null),
    SharesUnavailableError,
  );
  if (waitMs > 0) return refuse(reply, 'share_limited', [], waitMs);
  if (link === null) return refuse(reply, 'share_unknown');
  const reader = readerOf(link);
  const outcome =
    route.shared?.(input, link, worldOf(options, options.journal.view(), reader)) ?? refused('question_unknown');
  // What is wrong with a question quotes it: that is for those who may change it.
  if (outcome.kind === 'refused') return refuse(reply, outcome.code);
  if (outcome.kind === 'answered') {
    const times = await reachedOr(shareUse.opened(link.link_id, nowMs()), SharesUnavailableError);
    signInAudit.shareOpened(link, times);
    return find() === null ? refuse(reply, 'share_unknown') : reply.code(200).send(outcome.body);
  }
  if (outcome.kind === 'sql' || outcome.ofPersons === true) return refuse(reply, 'question_unknown');
  const cacheTtlMs = Math.max(outcome.cacheTtlMs, SHARED_CACHE_MS);
  const answered = await options.queries.answer({ ...outcome, cacheTtlMs }, askerOf(reader.actor, reply));
  if (find() === null) return refuse(reply, 'share_unknown');
  return answered.ok ? reply.code(200).send(answered.body) : refuse(reply, answered.code);
}

/** Redis does not answer, without which nobody is counted. */
class SharesUnavailableError extends Error {
  readonly code = 'shares_unavailable';
}

async function answerSession(call: Call, known: KnownCall | null): Promise<HttpReply> {
  const { options, route, input, reply } = call;
  const { headers } = reply.request;
  const place = sessionCookieFor(headers.host, options.ownNames);
  const cookie = place === null ? null : cookieValue(headers.cookie, place.cookie);
  const flow = place === null ? null : cookieValue(headers.cookie, oidcCookieFor(place).cookie);
  const network = wideNetworkOf(clientAddress(reply.request));
  const browser = browserName(headers['user-agent']);
  // Elsewhere a cookie could be read on its way.
  if (route.access === 'open' && place === null) return refuse(reply, 'host_unknown');
  const { analysts } = options;
  const asked = { parts: options, analysts, cookie, flow, place, network, browser };
  const answered: SessionAnswer =
    (await (known === null ? route.signingIn?.(input, asked) : route.inSession?.(input, { ...asked, ...known }))) ??
    refused('not_found');
  if (answered.flow !== undefined && place !== null) {
    reply.header('set-cookie', setCookie(oidcCookieFor(place), answered.flow, FLOW_MS / 1000));
  }
  if (answered.kind === 'refused') {
    const isLacking = answered.code === 'permission_missing' && known !== null;
    if (isLacking) return denyMissingPermission(call, known.caller.principal, 'listed');
    return refuse(reply, answered.code, answered.problems, answered.waitMs);
  }
  if (answered.version !== undefined) reply.header('etag', `"${answered.version}"`);
  if (answered.cookie !== undefined && place !== null) {
    reply.header('set-cookie', setCookie(place, answered.cookie, SESSION_MS_MAX / 1000));
  }
  return reply.code(route.success.status).send(answered.body);
}

async function answerGathered(call: KnownCall): Promise<HttpReply> {
  const { options, route, caller, judge, input, reply } = call;
  const { deadLetters, dataReads, journal } = options;
  const { principal } = caller;
  const asker = askerOf(principal.actor, reply);
  const sources: ControlServices = {
    ...options,
    deadLetters: deadLetters(asker),
    asker,
    listDataReads: (query) => dataReads.list(query, asker),
    wasRead: (site_id, kind, rows) => dataReads.read({ read_by: principal.actor, site_id, kind, format: 'json', rows }),
    now: () => worldNow(options, judge),
    note: noting(call),
    change: changing(call),
    removeSite: (erasure) => removeErasedSite(journal, erasure, options.nowMs()),
  };
  const answered =
    (await route.gather?.(input, sources, worldOf(options, journal.view(), principal))) ?? refused('not_found');
  if (answered.kind === 'refused') return refuseLate(call, answered);
  return reply.code(route.success.status).send(answered.body);
}

/** Has the audit say what is about to be done, by who asks as they are then. */
const noting =
  ({ options, route, judge }: KnownCall): ControlServices['note'] =>
  async (about, what) =>
    (await noteAs(options, judge, about, what, route.protects === true)) ?? worldNow(options, judge);

/** Refuses what was found out on the way. */
function refuseLate(call: KnownCall, { code, problems }: Refused): HttpReply {
  // What is given on is known only when the rest is: a grant, a token, a user.
  if (code === 'permission_missing') return denyMissingPermission(call, call.caller.principal, 'listed');
  return refuse(call.reply, code, problems);
}

/** What the control service is made of. */
export interface ControlOptions
  extends SignInParts,
    Pick<RequestContext, 'adapters' | 'domainRules' | 'edgeUrl' | 'isAddressAllowed' | 'replayProgress' | 'seal'>,
    Pick<
      RequestContext,
      'isErasedPerson' | 'isErasedSite' | 'keyedIdentifier' | 'phoneHmacs' | 'readSubject' | 'visitorNode'
    >,
    Pick<
      ControlServices,
      | 'alerts'
      | 'analysts'
      | 'cohortLists'
      | 'queries'
      | 'rates'
      | 'readSiteRejections'
      | 'readTagRecord'
      | 'replaysNow'
      | 'running'
      | 'shareUse'
    >,
    Pick<ControlServices, 'eraseRequests' | 'erasures' | 'persons' | 'sendTest' | 'splits' | 'stages'> {
  keyUse: KeyUseView;
  monthUse: MonthUseView;
  deadLetters: DeadLettersFor;
  dataReads: Pick<DataReadAudit, 'read'> & { list: ListDataReads };
  /** Hosts under which the service is asked; it answers no others. */
  ownNames: OwnNames;
  /** CIDR ranges of proxies whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[];
  dns: DnsResolver;
  /** Whether changes can be written as far as is known. */
  healthy(): boolean;
  errors: RequestErrors;
  /** What browsers load of the dashboard. */
  dashboard: LoadDashboard;
}

type InputRead = { ok: true; input: Input } | { ok: false; code: ControlErrorCode; problems: Problem[] };

/** What a request gives its route, checked against the route's schemas; or why it gives nothing. */
function readInput(route: Route, request: HttpRequestIn): InputRead {
  const body = route.body === null ? ({ ok: true, value: null } as const) : readBody(request);
  if (!body.ok) return { ok: false, code: body.code, problems: [] };
  const params = { ...(request.params as object) };
  const query = readQuery(route.query, { ...(request.query as object) });
  const problems = [
    ...schemaProblems(route.params, params),
    ...schemaProblems(route.query, query),
    ...(route.body === null ? [] : schemaProblems(route.body, body.value)),
  ];
  if (problems.length > 0) return { ok: false, code: 'settings_invalid', problems };
  const ifMatch = request.headers['if-match'] ?? null;
  return { ok: true, input: { params, query, body: body.value, ifMatch } };
}

type BodyRead = { ok: true; value: unknown } | { ok: false; code: ControlErrorCode };

function readBody(request: HttpRequestIn): BodyRead {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/json') return { ok: false, code: 'content_type_unsupported' };
  const bytes = request.body;
  if (!Buffer.isBuffer(bytes) || !isUtf8(bytes)) return { ok: false, code: 'body_not_json' };
  try {
    const value: unknown = JSON.parse(withoutByteOrderMark(bytes).toString('utf8'));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? { ok: true, value } : { ok: false, code: 'body_not_json' };
  } catch {
    // What JSON.parse says quotes the body, which may hold a secret.
    return { ok: false, code: 'body_not_json' };
  }
}

/** The first that a user agent names is meant: each of them names those after it as well. */
const BROWSERS: readonly [pattern: RegExp, name: string][] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\bChrom(?:e|ium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/\bcurl\//, 'curl'],
];
const SYSTEMS: readonly [pattern: RegExp, name: string][] = [
  [/\biPhone|iPad\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** What a session began in, in our own words: nothing of the user agent itself is kept. */
function browserName(userAgent: string | undefined): string {
  const agent = userAgent ?? '';
  const named = (list: typeof BROWSERS): string | undefined => list.find(([pattern]) => pattern.test(agent))?.[1];
  const system = named(SYSTEMS);
  return `${named(BROWSERS) ?? 'Another program'}${system === undefined ? '' : ` on ${system}`}`;
}
