import type { Adapter } from '#pipelines/delivery/contract.ts';
import type { RandomBytes } from '#pipelines/settings/keys.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Setting } from '#schemas/setting.ts';
import type { Arguments } from './arguments.ts';

/** Everything a command may use beside its arguments. */
export interface Context {
  table: SettingsTable;
  nowMs: number;
  randomBytes: RandomBytes;
  /** Recorded with each change. */
  changedBy: string;
  adapters: readonly Adapter[];
  seal(place: { siteId: string; destination: string; field: string }, value: string): string;
  readFile(path: string): string;
  readStdin(): string;
}

export interface Write {
  key: string;
  setting: Setting | null;
}

/** What a command comes to: what is to be written, and what is printed once that is durable. */
export interface Outcome {
  writes: Write[];
  text: string;
  json: unknown;
}

export interface OptionSpec {
  kind: 'text' | 'texts' | 'flag';
  /** How the value is called in the help. */
  value?: string;
  help: string;
  required?: true;
}

/** A command is a value: its words, its options and a pure function. It throws UsageError for what cannot be done. */
export interface Command {
  noun: string;
  verb: string;
  summary: string;
  /** The positional argument; null where there is none. */
  subject: { name: string; help: string } | null;
  options: Record<string, OptionSpec>;
  examples: string[];
  run(args: Arguments, context: Context): Outcome;
}
