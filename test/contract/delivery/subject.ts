import type { Adapter } from '#pipelines/delivery/contract.ts';
import type { EventEntry } from '#schemas/event.ts';
import type { Site } from '#schemas/setting.ts';
import type { Rule } from '#services/standin/script.ts';
import type { Standin, StandinOptions } from '#services/standin/server.ts';

/** An event and what the destination makes of it. */
export interface MappingCase {
  title: string;
  entry: EventEntry;
  site?: Partial<Site>;
  settings?: Record<string, string>;
  expected: { skip: string } | { form: object; without?: readonly string[] };
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
}
