import type { Adapter, Answer, HttpRequest, Verdict } from '#pipelines/delivery/contract.ts';
import type { EventEntry } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import type { Rule, Standin, StandinOptions } from '#services/local/platforms/standin.ts';
import type { EntryChanges } from '#test/unit/delivery/entries.ts';

/** An event and what the destination makes of it. */
export interface MappingCase {
  title: string;
  entry: EventEntry;
  site?: Partial<Site>;
  settings?: Record<string, string>;
  /** `path` is of the request's address, with its query. */
  expected: { skip: string } | { form: object; without?: readonly string[]; path?: string };
}

/** An answer of the platform's and what it means. */
export interface AnswerCase {
  title: string;
  answer: Answer;
  /** Events in the request, event_0 and so on; 1 unless told. */
  count?: number;
  expected: Partial<Verdict> & { kind: Verdict['kind'] };
}

/** What a destination brings to the contract suite. */
export interface Subject {
  adapter: Adapter;
  /** Starts the platform's stand-in, which takes `secrets` and not `brokenSecrets`. */
  start(options: StandinOptions): Promise<Standin>;
  settings(standin: Standin): Record<string, string>;
  secrets: Record<string, string>;
  brokenSecrets: Record<string, string>;
  /** How the stand-in is told to refuse credentials where it cannot know good from bad; null where it can. */
  brokenRule: Rule | null;
  /** Overrides the platform's address; null where the settings hold it. */
  baseUrl(standin: Standin): string | null;
  /** Texts of `personalEntry` that may be in no request. */
  forbidden: readonly string[];
  /** How many cases there must be. */
  casesMin: number;
  cases: readonly MappingCase[];
  /** What each answer that the platform documents means. */
  answers: readonly AnswerCase[];
  /** Secrets that the platform itself wants in the address. */
  secretsInUrl?: readonly string[];
  /** Set where the platform takes every request that it can read and never says what was wrong with an event. */
  neverRefuses?: true;
  /** How the suite's own events must differ from the usual purchase, where the platform knows that by its order. */
  entryChanges?: EntryChanges;
  /** Recognises the exchange for a token, which is no delivery. */
  isTokenRequest?(request: HttpRequest): boolean;
}
