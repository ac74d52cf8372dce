import { COMMON_OPTIONS } from './arguments.ts';
import type { Command, OptionSpec } from './command.ts';

const PROGRAM = 'npm run svc --';
const STATUS_SUMMARY = 'Say what runs where, and whether the edge answers';

/** Help for everything: one line for each command. */
export function overview(commands: readonly Command[]): string {
  const lines = commands.map((command) => [usageOf(command), command.summary] as const);
  return [
    `Usage: ${PROGRAM} NOUN VERB [options]`,
    '',
    ...aligned([['status', STATUS_SUMMARY], ...lines]),
    '',
    `Every command takes --help, with examples, and --json.`,
  ].join('\n');
}

/** Help for the commands of one noun. */
export function nounHelp(commands: readonly Command[]): string {
  return [
    ...aligned(commands.map((command) => [usageOf(command), command.summary] as const)),
    '',
    'Examples:',
    ...commands.flatMap((command) => command.examples.slice(0, 1).map(example)),
  ].join('\n');
}

/** Help for one command: what it does, its options, examples. */
export function commandHelp(command: Command): string {
  const options = Object.entries({ ...command.options, ...COMMON_OPTIONS });
  return [
    `Usage: ${PROGRAM} ${usageOf(command)} [options]`,
    '',
    `${command.summary}.`,
    '',
    ...(command.subject === null ? [] : [`  ${command.subject.name}: ${command.subject.help}`, '']),
    ...aligned(options.map(([name, option]) => [optionUsage(name, option), optionHelp(option)] as const)),
    '',
    'Examples:',
    ...command.examples.map(example),
  ].join('\n');
}

export function statusHelp(): string {
  const options = Object.entries(COMMON_OPTIONS);
  return [
    `Usage: ${PROGRAM} status [options]`,
    '',
    `${STATUS_SUMMARY}. Exit status 0 when it does.`,
    '',
    ...aligned(options.map(([name, option]) => [optionUsage(name, option), option.help] as const)),
    '',
    'Examples:',
    example('status'),
    example('status --json'),
  ].join('\n');
}

function usageOf({ noun, verb, subject }: Command): string {
  return subject === null ? `${noun} ${verb}` : `${noun} ${verb} ${subject.name}${subject.many === true ? ' ...' : ''}`;
}

function optionUsage(name: string, option: OptionSpec): string {
  return option.value === undefined ? `--${name}` : `--${name} ${option.value}`;
}

function optionHelp(option: OptionSpec): string {
  return option.required ? `${option.help} (required)` : option.help;
}

function example(words: string): string {
  return `  ${PROGRAM} ${words}`;
}

function aligned(lines: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...lines.map(([left]) => left.length));
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
