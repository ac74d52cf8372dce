import { parseArgs } from 'node:util';
import type { Arguments, Command, OptionSpec } from './command.ts';
import { UsageError } from './usage_error.ts';

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

/** Options that every command takes. */
export const COMMON_OPTIONS: Record<string, OptionSpec> = {
  json: { kind: 'flag', help: 'Print JSON for programs' },
  help: { kind: 'flag', help: 'Show this help' },
};

/** @throws UsageError for an unknown flag, a missing value, a missing option or a wrong number of words. */
export function readArguments(command: Command, words: string[]): Arguments {
  const { values, positionals } = parseWords({ ...command.options, ...COMMON_OPTIONS }, words);
  const args: Arguments = {
    subject: positionals[0] ?? '',
    subjects: positionals,
    text: (name) => textOf(values[name]),
    texts: (name) => textsOf(values[name]),
    flag: (name) => values[name] === true,
  };
  if (!args.flag('help')) checkComplete(command, args, positionals);
  return args;
}

function parseWords(options: Record<string, OptionSpec>, words: string[]): { values: Values; positionals: string[] } {
  const types = Object.entries(options).map(
    ([name, { kind }]) => [name, { type: kind === 'flag' ? 'boolean' : 'string', multiple: kind === 'texts' }] as const,
  );
  try {
    return parseArgs({ args: words, options: Object.fromEntries(types), allowPositionals: true, strict: true });
  } catch (error) {
    throw asUsageError(error);
  }
}

const PARSE_CODES: Record<string, string> = {
  ERR_PARSE_ARGS_UNKNOWN_OPTION: 'flag_unknown',
  ERR_PARSE_ARGS_INVALID_OPTION_VALUE: 'flag_value_missing',
};

function asUsageError(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const code = PARSE_CODES[String(error.code)];
  const [firstSentence = ''] = error.message.split(/\.?\s*\n|\. /);
  return code === undefined ? error : new UsageError(code, firstSentence);
}

function checkComplete(command: Command, args: Arguments, positionals: string[]): void {
  if (command.subject?.many !== true) checkWords(command, args, positionals);
  checkOptions(command, args);
}

function checkWords(command: Command, args: Arguments, positionals: string[]): void {
  const wanted = command.subject === null ? 0 : (command.subject.words ?? 1);
  if (positionals.length > wanted) {
    // The word itself is not repeated: it may be the value of a secret after a misplaced space.
    throw new UsageError('argument_unexpected', `there are ${positionals.length - wanted} words too many`);
  }
  if (command.subject !== null && (args.subject === '' || positionals.length < wanted)) {
    throw new UsageError('argument_missing', `${command.subject.name} is missing: ${command.subject.help}`);
  }
}

function checkOptions(command: Command, args: Arguments): void {
  for (const [name, option] of Object.entries(command.options)) {
    if (option.required && !args.text(name)) {
      throw new UsageError('flag_missing', `--${name} is missing: ${option.help}`);
    }
  }
}

function textOf(value: Values[string]): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function textsOf(value: Values[string]): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
