import type { ControlClient } from '#services/control_api/client.ts';

/** The arguments of one command, read and known to be complete. */
export interface Arguments {
  subject: string;
  /** Every positional argument. */
  subjects: readonly string[];
  /** Undefined when the option was not given; an empty text was. */
  text(name: string): string | undefined;
  texts(name: string): string[];
  flag(name: string): boolean;
}

/** Everything a command may use beside its arguments. */
export interface Context {
  client: ControlClient;
  nowMs: number;
  readFile(path: string): string;
  readStdin(): string;
  /** A file of the folder that holds everything local; null where there is none. */
  readLocal(name: string): string | null;
  /** For commands that wait for something: lines that are no part of the outcome, and pauses. */
  watch: { say(line: string): void; sleep(ms: number): Promise<void> };
}

/** What a command comes to, once it is done: what is printed for people, and for programs. */
export interface Outcome {
  /** Part of what was asked for was not done: exit status 1. */
  isPartial?: boolean;
  text: string;
  json: unknown;
}

/** `many`: any number of them, also none. `words`: how many there are, where it is not one. */
interface Subject {
  name: string;
  help: string;
  many?: true;
  words?: number;
}

export interface OptionSpec {
  kind: 'text' | 'texts' | 'flag';
  /** How the value is called in the help. */
  value?: string;
  help: string;
  required?: true;
}

/**
 * A command is a value: its words, its options and what it does with the control service. It throws UsageError for what
 * cannot be done, and passes on what the service refuses.
 */
export interface Command {
  noun: string;
  verb: string;
  summary: string;
  /** The positional argument; null where there is none. */
  subject: Subject | null;
  options: Record<string, OptionSpec>;
  examples: string[];
  run(args: Arguments, context: Context): Promise<Outcome>;
}

/** Exit status: 0 done, 1 it failed though the request was sound, 2 the request cannot be done. */
export interface CliResult {
  exitCode: 0 | 1 | 2;
  stdout: string;
  stderr: string;
}
