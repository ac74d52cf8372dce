// What a route is, who may use it, what it is given and what it answers: one value that is served and documented. Pages of
// lists with it.

import type { Static, TObject, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { Settings } from 'typebox/system';
import type { FollowedAlerts } from '#infra/alerts/alert_topic.ts';
import type { AnalystUsers } from '#infra/clickhouse/analysts/analyst_users.ts';
import type { CohortLists } from '#infra/clickhouse/cohort_members.ts';
import type { RateStore } from '#infra/clickhouse/currency_rates.ts';
import type { QueryCaller, RunningQueries } from '#infra/clickhouse/queries/running_queries.ts';
import type { Span } from '#infra/clickhouse/queries/select_rows.ts';
import type { ErasureRequests } from '#infra/persons/erasure_topic.ts';
import type { PersonData } from '#infra/persons/person_data.ts';
import type { PersonSplits } from '#infra/persons/person_splits.ts';
import type { DeadLetterStore } from '#infra/redelivery/dead_letter_store.ts';
import type { RejectionRecord, TagRecord } from '#infra/redis/edge_reports.ts';
import type { ShareUse } from '#infra/redis/share_use.ts';
import type { DataReadLog } from '#infra/settings/data_read_log.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import type { PersonSubject, TypedSubject } from '#pipelines/erasure/subject.ts';
import type { Permission, Place, Principal } from '#pipelines/settings/access.ts';
import type { ProofFinding } from '#pipelines/settings/domains.ts';
import type { Fact, SettingsView } from '#pipelines/settings/journal.ts';
import type { Problem } from '#pipelines/settings/problems.ts';
import type { RandomBytes } from '#pipelines/settings/secrets.ts';
import type { Erasure, ReplayProgress } from '#schemas/records.ts';
import type { ShareLink, Site } from '#schemas/setting.ts';
import { type Meta, nothing, PAGE_ITEMS, problemsOfErrors, type SchemaError } from '#services/control_api/fields.ts';
import type { Caller, Judge, SignInPlace } from './auth.ts';
import type { SendTest } from './destinations/delivery.ts';
import type { ControlErrorCode } from './errors.ts';
import type { StageView } from './operations/routes.ts';
import type { Format, Sent } from './queries/formats.ts';
import type { SignInParts } from './users/sign_in.ts';

/** How this installation verifies domains. */
export interface DomainRules {
  /** Null: domains are proven by TXT records alone. */
  cnameTarget: string | null;
  /** How long a verified domain is served though its records are missing. */
  graceMs: number;
}

/** What a request gives its route, once the route's schemas have checked it. */
export interface Input<Params = unknown, Query = unknown, Body = unknown> {
  params: Params;
  query: Query;
  body: Body;
  /** The If-Match header as received. */
  ifMatch: string | null;
}

/** What a route needs of who asks, and where. */
export interface Needs {
  permission: Permission;
  /** What it may need instead, by what is asked. */
  others?: readonly Permission[];
  /** Which of these it needs for an input; without it, always `permission`. */
  choose?(input: Input, view: SettingsView): Permission;
  /**
   * Where: of several places each. A fact that is not known is nowhere but in the whole installation, so that nobody learns what
   * there is elsewhere. `listed`: anywhere, as what is answered is cut to what may be seen.
   */
  of(input: Input, view: SettingsView, principal: Principal): Place | readonly Place[] | 'listed';
}

/** Who may use a route: whoever comes, whoever has a shared link, whoever is known, or who has a permission. */
export type Access = 'open' | 'shared' | 'known' | Needs;

/** In the site that the path names. */
export const inSite = (permission: Permission): Needs => ({
  permission,
  of: ({ params }) => ({ site: (params as { site_id: string }).site_id }),
});

/** In the account that the path names. */
export const inAccount = (permission: Permission): Needs => ({
  permission,
  of: ({ params }) => ({ account: (params as { account_id: string }).account_id }),
});

/** In the whole installation. */
export const inAll = (permission: Permission): Needs => ({ permission, of: () => 'installation' });

/** In the site that the query names; without one anywhere, and the list is cut. */
export const ofListed = (permission: Permission): Needs => ({
  permission,
  of({ query }) {
    const { site_id } = query as { site_id?: string };
    return site_id === undefined ? 'listed' : { site: site_id };
  },
});

/** Where something of a site is; of no site, or of one that is not known: in the installation. */
export const placeOfSite = (siteId: string | null | undefined): Place =>
  siteId === null || siteId === undefined ? 'installation' : { site: siteId };

/** In the site that the body names; without one in the whole installation. */
export const inBodySite = (permission: Permission): Needs => ({
  permission,
  of({ body }) {
    const { site_id } = body as { site_id?: string | null };
    return placeOfSite(site_id);
  },
});

/** In the site of the key that the path names. */
export const inKeySite = (permission: Permission): Needs => ({
  permission,
  of: ({ params }, { table }) => placeOfSite(table.keyByHash((params as { key_hash: string }).key_hash)?.site_id),
});

/** In the site of the replay that the path names. */
export const inReplaySite = (permission: Permission): Needs => ({
  permission,
  of: ({ params }, { table }) => placeOfSite(table.replay((params as { replay_id: string }).replay_id)?.site_id),
});

/** Everything a route may use beside the request. */
export interface RequestContext {
  view: SettingsView;
  /** Milliseconds since 1970 UTC. */
  nowMs: number;
  randomBytes: RandomBytes;
  adapters: readonly Adapter[];
  /** When a key was last used, in milliseconds since 1970 UTC; null where that is not known. */
  lastUsed(keyHash: string): number | null;
  /** Events of an account that were settled this month; null where that is not known. */
  monthUsed(accountId: string): number | null;
  /** Who asks. */
  principal: Principal;
  /** Whether who asks may do something in a place. */
  may(permission: Permission, place: Place): boolean;
  domainRules: DomainRules;
  /** Where browsers reach the edge, as an origin; null where that is not configured. */
  edgeUrl: string | null;
  /** What was found of the records of the domain that was asked for; null where they were not looked for. */
  proofFinding: ProofFinding | null;
  /** How far a replay is; undefined where it was not taken up yet. */
  replayProgress(replayId: string): ReplayProgress | undefined;
  /** Whether delivery would call an address. */
  isAddressAllowed(address: string): boolean;
  /** The keyed hashes that rows of a site may have of a phone number, which is given as its SHA-256. */
  phoneHmacs(siteId: string, sha256: string): readonly string[];
  /** By what people of a site are joined who have said an identifier, given as its SHA-256. */
  keyedIdentifier(siteId: string, identifier: 'email' | 'phone' | 'external_id', sha256: string): string;
  /** Whether a site of that id was erased of late: what comes of it is dropped. */
  isErasedSite(siteId: string): boolean;
  /** The same of a person of a site, as derived from a distinct id. */
  isErasedPerson(siteId: string, personId: string): boolean;
  /** Whom what was typed in means, of a site; null where events could not have it. */
  readSubject(typed: TypedSubject, site: Site): PersonSubject | null;
  /** By what other ids of a site are a distinct id's. */
  visitorNode(siteId: string, distinctId: string): string;
  seal(place: { siteId: string; destination: string; field: string }, value: string): string;
}

/** What is answered: `version` becomes the ETag. */
export interface Shown {
  body: object;
  version?: string;
}

/** What a request comes to. The facts are written first, and what is shown is read from the settings after that. */
export type Outcome = Done | Refused;
interface Done {
  kind: 'done';
  facts: Fact[];
  show(view: SettingsView): Shown;
  /** What is no more once they are written, for `beside`. */
  gone?: string | null;
}

/** What a request is refused with. */
export interface Refused {
  kind: 'refused';
  code: ControlErrorCode;
  problems: Problem[];
}

/** A query of events: what ClickHouse runs, and how its rows are answered. */
export interface QueryRequest {
  kind: 'query';
  /** Or ALL_SITES. */
  siteId: string;
  /** What is asked: `funnel`, `event`, ... */
  about: string;
  /** The time whose events are read; null where they are found by something else. */
  reads: Span | null;
  /** The query as it came: rows of one statement are answered in several ways. */
  asked: object;
  statement: Statement;
  /** Whether the audit notes who has the answer: it lists persons or their events, or tells what singles them out. */
  ofPersons?: boolean;
  /** Whether other control services may have the answer: not where it lists persons or their events. */
  isShared: boolean;
  /** How long the answer may be cached; 0: no cached one will do. */
  cacheTtlMs: number;
  /** False: nobody else is given the answer. */
  isKept?: boolean;
  answer(rows: readonly unknown[]): object;
}

/** What an analyst asks in SQL of one site. */
export interface SqlRequest {
  kind: 'sql';
  siteId: string;
  sql: string;
}

/** What the input of a query comes to. */
export type PreparedQuery = QueryRequest | SqlRequest | Refused;

/** What came of a query. */
export type Answered = { ok: true; body: object } | { ok: false; code: ControlErrorCode };

/** Answers to queries; equal queries share an answer for as long as it may be cached. */
export interface QueryAnswers {
  answer(query: QueryRequest, caller: QueryCaller): Promise<Answered>;
  /** The answer as it is sent. */
  write(query: QueryRequest | SqlRequest, format: Format, caller: QueryCaller): Promise<Sent>;
}

/** Rows of a statement, for an answer that is made of more than them; or the code by which it was refused. */
export async function rowsOf<Row>(
  { queries, asker }: Pick<ControlServices, 'queries' | 'asker'>,
  query: Pick<QueryRequest, 'siteId' | 'about' | 'asked' | 'statement' | 'cacheTtlMs' | 'isKept'>,
): Promise<Row[] | ControlErrorCode> {
  const rest = {
    kind: 'query',
    reads: null,
    isShared: false,
    answer: (rows: readonly unknown[]) => ({ rows }),
  } as const;
  const answered = await queries.answer({ ...query, ...rest }, asker);
  return answered.ok ? (answered.body as { rows: Row[] }).rows : answered.code;
}

/** What is asked of others than the settings, in more than one step. */
export interface ControlServices {
  deadLetters: DeadLetterStore;
  queries: QueryAnswers;
  running: RunningQueries;
  rates: RateStore;
  cohortLists: CohortLists;
  shareUse: ShareUse;
  /** Null: this installation makes no users of ClickHouse. */
  analysts: AnalystUsers | null;
  splits: PersonSplits;
  persons: PersonData;
  eraseRequests: ErasureRequests;
  /** Erasures by their ids, kept current. */
  erasures: ReadonlyMap<string, Erasure>;
  /** What alerts were judged by and what fired, kept current; and the way to have a test sent. */
  alerts: Pick<FollowedAlerts, 'all' | 'request'>;
  /** Removes the settings of a site whose erasure was asked for. @throws JournalError */
  removeSite(erasure: Erasure): Promise<void>;
  stages: StageView;
  sendTest: SendTest;
  /** How far each replay is at this moment, by replay id. */
  replaysNow(): Promise<ReadonlyMap<string, ReplayProgress>>;
  /** What is remembered of a site's tag; where it is not to be had, throws what says so by its code. */
  readTagRecord(siteId: string): Promise<TagRecord>;
  /** What was not accepted of a site; null where Redis does not answer. */
  readSiteRejections(siteId: string): Promise<RejectionRecord | null>;
  asker: QueryCaller;
  listDataReads: DataReadLog['list'];
  /** Has the audit say that who asks was shown so many rows about people of a site. */
  wasRead(siteId: string, kind: string, rows: number): void;
  /**
   * The world as it is now, or why who asks may not do it any more: for what is about to be done after something was waited
   * for.
   */
  now(): RequestContext | Refused;
  /**
   * Notes in the audit what is about to be done: what it is about, and with what; answers the world as it is then, or why who asks
   * may not do it any more. Only what there is, and may be done, is noted, so that nobody fills the audit by what they make
   * up. @throws JournalError
   */
  note(about: string, what: Record<string, unknown>): Promise<RequestContext | Refused>;
  /** Changes settings by what is made of the world as it is then. @throws JournalError */
  change(run: (world: RequestContext) => Outcome): Promise<Outcome>;
}

/** What a request to such sources comes to. */
export type GatheredAnswer = { kind: 'answered'; body: object } | Refused;

/**
 * A route is a value: what it takes, what it answers, and one function that answers it: `run`, `prepare`,
 * `gather`, `shared`, `inSession` or `signingIn`. The document is made from the same value.
 */
export interface Route<Taken extends Input = Input> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With parameters in braces. */
  path: string;
  operationId: string;
  /** Who may use it, and where. */
  access: Access;
  /** Whether an input takes that a session's user has proven lately who they are; left out: none does. */
  requiresReauthentication?(input: Taken, known: Pick<RequestContext, 'view' | 'adapters'>): boolean;
  tag: string;
  summary: string;
  params: TObject;
  query: TObject;
  body: TSchema | null;
  /** Whether If-Match is read: it must be sent, or it may be. */
  ifMatch: 'required' | 'optional' | 'none';
  success: { status: 200 | 201; schema: TSchema; description: string; otherwise?: Record<string, TSchema> };
  /** Whether it shows when keys were used, which is then read anew. */
  showsKeyUse?: true;
  /** Whether it shows what accounts used of the month, which is then read anew. */
  showsMonthUse?: true;
  /** Whether it only takes away what lets somebody in, which is done beyond the changes of a day too. */
  protects?: true;
  /** Whether the records of its domain are looked for before. */
  looksForProof?: true;
  /** Codes that only this route answers; those of every route are added. */
  errors: readonly ControlErrorCode[];
  /** Reads or changes the settings. */
  run?(input: Taken, world: RequestContext): Outcome;
  /** What stands in the answer beside what is shown, by others than the settings, once the change is written. */
  beside?(
    input: Taken,
    sources: Pick<ControlServices, 'analysts' | 'cohortLists' | 'note'>,
    world: RequestContext,
    outcome: Pick<Done, 'gone'>,
  ): Promise<object>;
  /** Of a query: what is asked. */
  prepare?(input: Taken, world: RequestContext): PreparedQuery;
  /** Of dead letters and single events: what their sources are asked. */
  gather?(input: Taken, sources: ControlServices, world: RequestContext): Promise<GatheredAnswer>;
  /** What a shared link shows, or asks; the world is that of whoever has the link. */
  shared?(input: Taken, link: ShareLink, world: RequestContext): GatheredAnswer | PreparedQuery;
  /** Of sessions: what they come to, for somebody who is known. */
  inSession?(input: Taken, asked: KnownAsked): Promise<SessionAnswer>;
  /** The same of sign-ins, which need nobody. */
  signingIn?(input: Taken, asked: SessionAsked): Promise<SessionAnswer>;
}

type Heading = 'method' | 'path' | 'operationId' | 'tag';
type Optional = 'params' | 'query' | 'body' | 'ifMatch' | 'errors';
type Untagged = Omit<Route, 'tag'>;

/** What a route is declared with beside its heading; schemas that are left out take nothing. */
type RouteSpec<Params extends TObject, Query extends TObject, Body extends TSchema> = Omit<
  Route<Input<Static<Params>, Static<Query>, Static<Body>>>,
  Heading | Optional
> &
  Partial<Pick<Route, 'ifMatch' | 'errors'>> & { params?: Params; query?: Query; body?: Body | null };

/** Declares a route. Its functions are only called with what its schemas have checked, so their types are theirs. */
export function route<
  Params extends TObject = typeof nothing,
  Query extends TObject = typeof nothing,
  Body extends TSchema = TSchema,
>(method: Route['method'], path: string, operationId: string, spec: RouteSpec<Params, Query, Body>): Untagged {
  const defaults = { params: nothing, query: nothing, body: null, ifMatch: 'none', errors: [] };
  return { ...defaults, ...spec, method, path, operationId } as unknown as Untagged;
}

/** Routes that stand together in the document, under a tag. */
export const resource = (tag: string, routes: readonly Untagged[]): Route[] => routes.map((one) => ({ ...one, tag }));

export function done(facts: Fact[], show: (view: SettingsView) => Shown): Done {
  return { kind: 'done', facts, show };
}

/** Shows an item with its version, as it is once the facts are written. */
export const doneWith = (facts: Fact[], itemOf: (view: SettingsView) => Meta): Done =>
  done(facts, (view) => {
    const body = itemOf(view);
    return { body, version: body.version };
  });

export function refused(code: ControlErrorCode, problems: Problem[] = []): Refused {
  return { kind: 'refused', code, problems };
}

const CLAIMS: ReadonlySet<string> = new Set(['domain_claimed', 'measurement_id_claimed']);

/** The refusal for what the checks found, or null where they found nothing. */
export function refusedFor(problems: Problem[]): Refused | null {
  if (problems.length === 0) return null;
  return refused(problems.every(({ code }) => CLAIMS.has(code)) ? 'claimed_elsewhere' : 'settings_invalid', problems);
}

/** What a route of sessions and sign-ins has beside its input. */
export interface SessionAsked {
  parts: SignInParts;
  /** Null: this installation makes no users of ClickHouse. */
  analysts: AnalystUsers | null;
  /** The session cookie that came with the request, whatever it is worth. */
  cookie: string | null;
  /** The cookie of a sign-in that was begun at a provider. */
  flow: string | null;
  place: SignInPlace | null;
  network: string;
  browser: string;
}

/** The same, with who asks; `judge` judges again whether they may do what they ask for. */
export type KnownAsked = SessionAsked & { caller: Caller; judge: Judge };

/** What such a route comes to: `cookie` sets the session cookie, `flow` that of a sign-in at a provider; null removes it. */
export type SessionAnswer =
  | { kind: 'answered'; body: object; version?: string; cookie?: string | null; flow?: string | null }
  | { kind: 'refused'; code: ControlErrorCode; problems: Problem[]; waitMs?: number | null; flow?: string | null };

interface PageQuery {
  limit?: number;
  after?: string;
}

/** One page of a list. `textOf` is unique, and the list is sorted by it. */
export function page<Item, View>(
  items: readonly Item[],
  query: PageQuery,
  textOf: (item: Item) => string,
  viewOf: (item: Item) => View,
): { items: View[]; next: string | null } {
  const { after, limit = PAGE_ITEMS } = query;
  const rest = after === undefined ? items : items.filter((item) => textOf(item) > after);
  const taken = rest.slice(0, limit);
  const last = taken.at(-1);
  const next = last !== undefined && rest.length > taken.length ? textOf(last) : null;
  return { items: taken.map(viewOf), next };
}

/** Answers with what is known already. */
export const shown = (body: object, version?: string): Outcome =>
  done([], () => (version === undefined ? { body } : { body, version }));

/** Answers with a page of a list that is sorted by a member of its items, or by several, which tell one from another. */
export function listed<Key extends string, Item extends Record<Key, string>>(
  items: readonly Item[],
  query: PageQuery,
  by: Key | readonly Key[],
  viewOf: (item: Item) => object,
): Outcome {
  const textOf = (item: Item): string =>
    [by]
      .flat()
      .map((key) => item[key as Key])
      .join('/');
  return shown(page(items, query, textOf, viewOf));
}

/** So many that those of the branch of a union that was meant are among them. */
const ERRORS_LISTED = 200;
Settings.Set({ maxErrors: ERRORS_LISTED });

const validators = new WeakMap<TSchema, Validator>();

/** What of a value a schema does not take; no problem: it takes it. No message holds a value. */
export function schemaProblems(schema: TSchema, value: unknown): Problem[] {
  const validator = validators.get(schema) ?? Compile(schema);
  validators.set(schema, validator);
  if (validator.Check(value)) return [];
  return problemsOfErrors(schema, validator.Errors(value) as SchemaError[]);
}

/** Query texts as the schema means them: a whole number where it asks for one. */
export function readQuery(schema: TSchema, query: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const isNumber = child(child(child(schema, 'properties'), name), 'type') === 'integer';
      return [name, isNumber && typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value];
    }),
  );
}

function child(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
