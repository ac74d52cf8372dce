import { type DeadLetterStore, DeadLettersError } from '#infra/dead_letters/dead_letter_store.ts';
import { SearchBusyError } from '#infra/dead_letters/event_searches.ts';
import {
  createHttpServer,
  type HttpReply,
  type HttpRequestIn,
  type HttpServer,
  isRefusal,
  QUERY_WITHOUT_TYPE,
} from '#infra/http/http_server.ts';
import { RedisUnavailableError } from '#infra/redis/client.ts';
import type { KeyUseView } from '#infra/redis/key_use.ts';
import type { MonthUseView } from '#infra/redis/month_use.ts';
import type { TagRecord } from '#infra/redis/tag_health.ts';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import { checkToken } from '#pipelines/settings/admin_tokens.ts';
import { type DnsResolver, domainRecords, findProof, type ProofFinding } from '#pipelines/settings/domain_proof.ts';
import {
  auditedRecords,
  JournalError,
  notedRecord,
  type Planned,
  type SettingsJournal,
  type SettingsView,
} from '#pipelines/settings/journal.ts';
import type { RandomBytes } from '#pipelines/settings/keys.ts';
import type { Problem } from '#pipelines/settings/problem.ts';
import { canonicalDomain } from '#pipelines/settings/web_names.ts';
import { mountDocs } from '#services/openapi_routes.ts';
import type { RequestErrors } from '#services/request_errors.ts';
import { formatOf } from './answer_formats.ts';
import { type ControlErrorCode, errorAnswer, RETRY_AFTER_S } from './errors.ts';
import { controlDocument } from './openapi.ts';
import { readInput } from './read_input.ts';
import type { Input, Outcome, QueryAnswers, Route, World } from './route.ts';
import { ROUTES } from './routes.ts';

export interface ControlOptions {
  journal: SettingsJournal;
  adapters: readonly Adapter[];
  keyUse: KeyUseView;
  monthUse: MonthUseView;
  queries: QueryAnswers;
  deadLetters: DeadLetterStore;
  replayProgress: World['replayProgress'];
  /** What is remembered of a site's tag; where it is not to be had, throws what says so by its code. */
  readTagRecord(siteId: string): Promise<TagRecord>;
  seal: World['seal'];
  isAddressAllowed: World['isAddressAllowed'];
  dns: DnsResolver;
  domainRules: World['domainRules'];
  randomBytes: RandomBytes;
  nowMs(): number;
  /** Whether changes can be written as far as is known. */
  healthy(): boolean;
  errors: RequestErrors;
}

const BODY_BYTES_MAX = 1024 * 1024;
const REQUEST_MS_MAX = 30_000;
/** An event's id has up to 200; what is longer is judged by the route's schema, up to here. */
const PARAM_CHARACTERS_MAX = 500;
/** Beside these the server knows no others; HEAD and OPTIONS have no routes here either. */
const HEALTH = '/v1/admin/health';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'] as const;
/** The routes of the control service. Nothing is parsed for a stranger: the token is checked before the body is read. */
export function createControlApp(options: ControlOptions): HttpServer {
  const app = createHttpServer({
    trustedProxies: [],
    bodyBytesMax: BODY_BYTES_MAX,
    requestTimeoutMs: REQUEST_MS_MAX,
    paramCharactersMax: PARAM_CHARACTERS_MAX,
    onMalformed: (reply) => {
      refuse(reply, 'request_malformed');
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
  });
  app.setNotFoundHandler((_request, reply) => refuse(reply, 'not_found'));
  app.setErrorHandler((error, request, reply) => {
    const code = codeOf(error, request);
    if (code === 'method_not_allowed') reply.header('allow', allowOf(request));
    if (code === null) options.errors.saw(error, request.routeOptions.url);
    return refuse(reply, code ?? 'internal');
  });
  app.addHook('onResponse', (request, reply, done) => {
    if (reply.statusCode < 300 && actors.has(request)) options.errors.succeeded();
    done();
  });

  const actors = new WeakMap<HttpRequestIn, string>();
  const authenticated = async (request: HttpRequestIn, reply: HttpReply): Promise<HttpReply | undefined> => {
    const check = checkToken(options.journal.view().table, bearer(request), options.nowMs());
    if (!check.ok) return refuse(reply.header('www-authenticate', 'Bearer'), check.code);
    actors.set(request, check.token.label);
    return undefined;
  };
  for (const route of ROUTES) {
    app.route({
      method: route.method,
      url: fastifyPath(route.path),
      onRequest: authenticated,
      handler: (request, reply) => answer(options, route, actors.get(request) ?? '', request, reply),
    });
  }
  for (const [path, methods] of pathMethods()) {
    const others = METHODS.filter((method) => !methods.includes(method));
    app.route({
      method: others,
      url: fastifyPath(path),
      handler: (_request, reply) => refuse(reply.header('allow', methods.join(', ')), 'method_not_allowed'),
    });
  }
  publicRoutes(app, options);
  return app;
}

function publicRoutes(app: HttpServer, options: ControlOptions): void {
  mountDocs(app, controlDocument());
  app.get(HEALTH, (_request, reply) => {
    const ok = options.healthy();
    return reply.code(ok ? 200 : 503).send({ ok });
  });
}

async function answer(
  options: ControlOptions,
  route: Route,
  actor: string,
  request: HttpRequestIn,
  reply: HttpReply,
): Promise<HttpReply> {
  const read = readInput(route, request);
  if (!read.ok) return refuse(reply, read.code, read.problems);
  const { journal } = options;
  if (route.ask !== undefined) return answerQuery(options, route, read.input, reply);
  if (route.gather !== undefined) return answerGathered(options, route, actor, read.input, reply);
  if (route.showsKeyUse === true) await options.keyUse.refresh();
  if (route.showsMonthUse === true) await refreshMonthUse(options);
  const tagRecord = route.showsTagHealth === true ? await tagRecordFor(options, read.input) : null;
  const proofFinding = route.looksForProof === true ? await proofFor(options, read.input) : null;
  const outcome = await (route.method === 'GET'
    ? route.run(read.input, { ...worldOf(options, journal.view()), tagRecord })
    : change(read.input));
  if (outcome.kind === 'refused') return refuse(reply, outcome.code, outcome.problems);
  const { body, version } = outcome.show(journal.view());
  if (version !== undefined) reply.header('etag', `"${version}"`);
  return reply.code(route.success.status).send(body);

  function change(input: Input): Promise<Outcome> {
    return journal.change((view): Planned<Outcome> => {
      const result = route.run(input, { ...worldOf(options, view), proofFinding, actor });
      const facts = result.kind === 'done' ? result.facts : [];
      return { records: auditedRecords(view, facts, actor, options.nowMs()), result };
    });
  }
}

/** Only of a site that there is: anything else would have Redis asked for names out of a request. */
async function tagRecordFor({ journal, readTagRecord }: ControlOptions, { params }: Input): Promise<TagRecord | null> {
  const { site_id } = params as { site_id: string };
  return journal.view().table.site(site_id) === undefined ? null : readTagRecord(site_id);
}

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

function worldOf(options: ControlOptions, view: SettingsView): World {
  const { adapters, seal, isAddressAllowed, randomBytes, keyUse, monthUse, replayProgress, domainRules } = options;
  const known = { lastUsed: keyUse.lastUsed, monthUsed: monthUse.used, replayProgress };
  const unread = { tagRecord: null, proofFinding: null, actor: null };
  const nowMs = options.nowMs();
  return { view, nowMs, adapters, seal, isAddressAllowed, randomBytes, domainRules, ...unread, ...known };
}

async function answerQuery(options: ControlOptions, route: Route, input: Input, reply: HttpReply): Promise<HttpReply> {
  const question = route.ask?.(input, worldOf(options, options.journal.view()));
  if (question === undefined) return refuse(reply, 'not_found');
  if (question.kind === 'refused') return refuse(reply, question.code, question.problems);
  const answered = await options.queries.write(question, formatOf(input.query, reply.request.headers.accept));
  return answered.ok
    ? reply.type(answered.contentType).send(answered.body)
    : refuse(reply, answered.code, answered.problems);
}

async function answerGathered(
  options: ControlOptions,
  route: Route,
  actor: string,
  input: Input,
  reply: HttpReply,
): Promise<HttpReply> {
  const noted = route.noted?.(input);
  if (noted !== undefined) {
    await options.journal.change((view) => ({
      records: [notedRecord(view, noted.about, noted.with, actor, options.nowMs())],
      result: null,
    }));
  }
  const sources = { letters: options.deadLetters, queries: options.queries };
  const answered = await route.gather?.(input, sources, worldOf(options, options.journal.view()));
  if (answered === undefined) return refuse(reply, 'not_found');
  if (answered.kind === 'refused') return refuse(reply, answered.code, answered.problems);
  return reply.code(route.success.status).send(answered.body);
}

function bearer(request: HttpRequestIn): string | null {
  return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null;
}

function refuse(reply: HttpReply, code: ControlErrorCode, problems: Problem[] = []): HttpReply {
  const { status, body } = errorAnswer(code, problems);
  if (status === 503) reply.header('retry-after', String(RETRY_AFTER_S));
  return reply.code(status).send(body);
}

/** The methods of the route that a request is for, by what the router made of its path. */
function allowOf(request: HttpRequestIn): string {
  const found = [...pathMethods()].find(([path]) => fastifyPath(path) === request.routeOptions.url);
  return (found?.[1] ?? ['GET']).join(', ');
}

const fastifyPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

function pathMethods(): Map<string, string[]> {
  const found = new Map([[HEALTH, ['GET']]]);
  for (const { path, method } of ROUTES) found.set(path, [...(found.get(path) ?? []), method]);
  return found;
}

/** What of the server's own errors is the caller's fault, by the server's stable codes. */
const CALLER_FAULTS: Record<string, ControlErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'content_type_unsupported',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'request_malformed',
  FST_ERR_BAD_URL: 'request_malformed',
  [QUERY_WITHOUT_TYPE]: 'method_not_allowed',
};

function codeOf(error: unknown, request: HttpRequestIn): ControlErrorCode | null {
  if (error instanceof JournalError) return 'settings_not_stored';
  if (error instanceof RedisUnavailableError) return 'tag_health_unavailable';
  if (error instanceof DeadLettersError) return 'dead_letters_unavailable';
  if (error instanceof SearchBusyError) return error.code;
  // The connection is gone, or what came is not HTTP.
  if (error !== null && request.raw.errored === error) return 'request_malformed';
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string' && Object.hasOwn(CALLER_FAULTS, code)) return CALLER_FAULTS[code] ?? null;
  // A refusal that a later version of the server brings must not end the process.
  return isRefusal(error) ? 'request_malformed' : null;
}
