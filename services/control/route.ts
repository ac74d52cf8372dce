import type { Static, TObject, TSchema } from 'typebox';
import type { Statement } from '#infra/clickhouse/queries/statement.ts';
import type { DeadLetterStore } from '#infra/dead_letters/dead_letter_store.ts';
import type { TagRecord } from '#infra/redis/tag_health.ts';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import type { ProofFinding } from '#pipelines/settings/domain_proof.ts';
import type { Fact, SettingsView } from '#pipelines/settings/journal.ts';
import type { RandomBytes } from '#pipelines/settings/keys.ts';
import type { Problem } from '#pipelines/settings/problem.ts';
import type { ReplayProgress } from '#schemas/replay_progress.ts';
import type { Format, Sent } from './answer_formats.ts';
import type { ControlErrorCode } from './errors.ts';

/** How this installation verifies domains. */
export interface DomainRules {
  /** Null: domains are proven by TXT records alone. */
  cnameTarget: string | null;
  /** How long a verified domain is served though its records are missing. */
  graceMs: number;
}

/** Everything a route may use beside the request. */
export interface World {
  view: SettingsView;
  /** Milliseconds since 1970 UTC. */
  nowMs: number;
  randomBytes: RandomBytes;
  adapters: readonly Adapter[];
  /** When a key was last used, in milliseconds since 1970 UTC; null where that is not known. */
  lastUsed(keyHash: string): number | null;
  /** Events of an account that were settled this month; null where that is not known. */
  monthUsed(accountId: string): number | null;
  /** Label of the admin token that asks for a change; null where nothing is changed. */
  actor: string | null;
  /** What is remembered of the tag of the site that was asked for; null where that was not read. */
  tagRecord: TagRecord | null;
  domainRules: DomainRules;
  /** What was found of the records of the domain that was asked for; null where they were not looked for. */
  proofFinding: ProofFinding | null;
  /** How far a replay is; undefined where it was not taken up yet. */
  replayProgress(replayId: string): ReplayProgress | undefined;
  /** Whether delivery would call an address. */
  isAddressAllowed(address: string): boolean;
  seal(place: { siteId: string; destination: string; field: string }, value: string): string;
}

export interface Input<Params = unknown, Query = unknown, Body = unknown> {
  params: Params;
  query: Query;
  body: Body;
  /** The If-Match header as received. */
  ifMatch: string | null;
}

/** What is answered: `version` becomes the ETag. */
export interface Shown {
  body: object;
  version?: string;
}

/** What a request comes to. The facts are written first, and what is shown is read from the settings after that. */
export type Outcome =
  | { kind: 'done'; facts: Fact[]; show(view: SettingsView): Shown }
  | { kind: 'refused'; code: ControlErrorCode; problems: Problem[] };

/** What a query of events comes to: what ClickHouse is asked, and how its rows are answered. */
export type Question =
  | {
      kind: 'ask';
      /** The question as it came: rows of one statement are answered in several ways. */
      asked: object;
      statement: Statement;
      /** How long the answer may be kept; 0: no kept one will do. */
      keptMs: number;
      answer(rows: readonly unknown[]): object;
    }
  | SqlQuestion
  | Extract<Outcome, { kind: 'refused' }>;

/** What an analyst asks in SQL of one site. */
export interface SqlQuestion {
  kind: 'sql';
  siteId: string;
  sql: string;
}

/** What came of a question. */
export type Answered = { ok: true; body: object } | { ok: false; code: ControlErrorCode };

/** Answers to queries; equal questions share an answer for as long as it may be kept. */
export interface QueryAnswers {
  answer(question: Extract<Question, { kind: 'ask' }>): Promise<Answered>;
  /** The answer as it is sent. */
  write(question: Exclude<Question, { kind: 'refused' }>, format: Format): Promise<Sent>;
}

/** What is asked of others than the settings, in more than one step. */
export interface Sources {
  letters: DeadLetterStore;
  queries: QueryAnswers;
}

/** What a request to such sources comes to. */
export type GatheredAnswer = { kind: 'answered'; body: object } | Extract<Outcome, { kind: 'refused' }>;

/** A route is a value: what it takes, what it answers, and a pure function. The document is made from the same value. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With parameters in braces. */
  path: string;
  operationId: string;
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
  /** Whether it shows what is remembered of a site's tag, which is then read. */
  showsTagHealth?: true;
  /** Whether the records of its domain are looked for before. */
  looksForProof?: true;
  /** Codes that only this route answers; those of every route are added. */
  errors: readonly ControlErrorCode[];
  run(input: Input, world: World): Outcome;
  /** Of a query: what is asked, in the place of `run`. */
  ask?(input: Input, world: World): Question;
  /** Of dead letters and single events: what their sources are asked, in the place of `run`. */
  gather?(input: Input, sources: Sources, world: World): Promise<GatheredAnswer>;
  /** What the audit notes before that is done: what it is about, and with what. */
  noted?(input: Input): { about: string; with: Record<string, unknown> };
}

interface RouteSpec<Params extends TObject, Query extends TObject, Body extends TSchema>
  extends Omit<Route, 'params' | 'query' | 'body' | 'run'> {
  params: Params;
  query: Query;
  body: Body | null;
  run(input: Input<Static<Params>, Static<Query>, Static<Body>>, world: World): Outcome;
}

/** Declares a route. Its function is only called with what its schemas have checked, so its types are theirs. */
export function route<Params extends TObject, Query extends TObject, Body extends TSchema>(
  spec: RouteSpec<Params, Query, Body>,
): Route {
  return spec as unknown as Route;
}

export function done(facts: Fact[], show: (view: SettingsView) => Shown): Outcome {
  return { kind: 'done', facts, show };
}

export function refused(code: ControlErrorCode, problems: Problem[] = []): Outcome {
  return { kind: 'refused', code, problems };
}

const CLAIMS: ReadonlySet<string> = new Set(['domain_claimed', 'measurement_id_claimed']);

/** The refusal for what the checks found, or null where they found nothing. */
export function refusedFor(problems: Problem[]): Outcome | null {
  if (problems.length === 0) return null;
  return refused(problems.every(({ code }) => CLAIMS.has(code)) ? 'claimed_elsewhere' : 'settings_invalid', problems);
}
