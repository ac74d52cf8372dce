// The command line: its table of commands, how words are read, help, and running one.

import { parseArgs } from 'node:util';
import { ControlRefusal } from '#services/control_api/client.ts';
import { oneLine } from '#services/stage/terminal.ts';
import { accountCommands, auditCommands } from './accounts.ts';
import { type Arguments, type CliResult, type Command, type Context, type OptionSpec, UsageError } from './command.ts';
import { destinationCommands } from './destinations.ts';
import { engageCommands, engageResultCommands } from './engage.ts';
import { correlationCommand, funnelCommands } from './funnels.ts';
import { healthCommand, refusalsCommand, tagHealthCommand } from './health.ts';
import { keyCommands } from './keys.ts';
import { actorsCommand, eventTraceCommand, listingCommands, pathsCommand, personSplitCommand } from './persons.ts';
import { analystCommand, analystUserCommands, queryCommand, runningQueryCommands, savedCommands } from './queries.ts';
import { deadCommands, replayCommands } from './redelivery.ts';
import { activityCommands, retentionCommand } from './retention.ts';
import { scaffoldCommand } from './scaffold.ts';
import { domainCommands, siteCommands } from './sites.ts';
import { type StatusPorts, statusReport } from './status.ts';
import { topCommand, trendsCommand } from './trends.ts';
import { tokenCommands, userCommands } from './users.ts';

/** The world around the command line. */
export interface CliPorts {
  openContext(): Promise<Context>;
  status: StatusPorts;
}

/**
 * Runs one command line. What is wrong with it comes back as one line, `svc: CODE: message`, and exit status 2; failures
 * of the service, such as one that does not answer, are thrown.
 */
export async function runCli(words: readonly string[], ports: CliPorts): Promise<CliResult> {
  try {
    return await execute(planOf(words), ports);
  } catch (error) {
    const refusal = error instanceof ControlRefusal ? usageError(error) : error;
    if (!(refusal instanceof UsageError)) throw error;
    return { exitCode: 2, stdout: '', stderr: `svc: ${refusal.code}: ${oneLine(refusal.message)}\n` };
  }
}

async function execute(plan: Plan, ports: CliPorts): Promise<CliResult> {
  if (plan.kind === 'print') return printed(plan.text);
  if (plan.kind === 'status') return await statusReport(ports.status, plan.json);
  const outcome = await plan.command.run(plan.args, await ports.openContext());
  const result = printed(plan.args.flag('json') ? JSON.stringify(outcome.json, null, 2) : outcome.text);
  return outcome.isPartial === true ? { ...result, exitCode: 1 } : result;
}

/** The code of the first problem, where there is one, says more than that there are problems. */
function usageError({ code, message, problems }: ControlRefusal): UsageError {
  const [first] = problems;
  if (first === undefined) return new UsageError(code, message);
  return new UsageError(first.code, problems.map((item) => `${item.field}: ${item.message}`).join('; '));
}

function printed(text: string): CliResult {
  return { exitCode: 0, stdout: `${text}\n`, stderr: '' };
}

/** What was asked for: a text to print, the status, or a command with its arguments. */
type Plan =
  | { kind: 'print'; text: string }
  | { kind: 'status'; json: boolean }
  | { kind: 'command'; command: Command; args: Arguments };

/** Reads the words after `svc`. Nothing is opened yet, so help works without a running service. @throws UsageError */
export function planOf(words: readonly string[]): Plan {
  const [noun, verb, ...rest] = withVerb(words);
  if (noun === undefined || noun === '--help' || noun === 'help') return { kind: 'print', text: overview(COMMANDS) };
  if (noun === 'status') return statusPlan(words.slice(1));
  const siblings = COMMANDS.filter((command) => command.noun === noun);
  if (siblings.length === 0) throw new UsageError('command_unknown', `there is no command ${noun}; see --help`);
  if (verb === undefined || verb === '--help') return { kind: 'print', text: nounHelp(siblings) };
  const command = siblings.find((sibling) => sibling.verb === verb);
  if (command === undefined) {
    const verbs = siblings.map((sibling) => sibling.verb).join(', ');
    throw new UsageError('command_unknown', `${noun} has ${verbs}, not ${verb}`);
  }
  const args = readArguments(command, rest);
  return args.flag('help') ? { kind: 'print', text: commandHelp(command) } : { kind: 'command', command, args };
}

/** Verbs that may be left out, as their nouns say enough. */
const VERBS: Record<string, string> = { replay: 'start', analyst: 'show' };
/** Nouns that can only be shown: what follows them is their subject. */
const SHOWN = new Set([
  'funnel',
  'correlation',
  'trends',
  'retention',
  'stickiness',
  'lifecycle',
  'top',
  'live',
  'timeline',
  'paths',
  'actors',
]);

function withVerb(words: readonly string[]): readonly string[] {
  const [noun = '', second] = words;
  if (SHOWN.has(noun)) {
    const isComplete = second === 'show' || second === '--help' || second === undefined;
    return isComplete ? words : [noun, 'show', ...words.slice(1)];
  }
  const verb = Object.hasOwn(VERBS, noun) ? VERBS[noun] : undefined;
  const isLeftOut = second?.startsWith('--') === true && second !== '--help';
  return verb === undefined || !isLeftOut ? words : [noun, verb, ...words.slice(1)];
}

function statusPlan(words: string[]): Plan {
  const unknown = words.find((word) => word !== '--json' && word !== '--help');
  if (unknown !== undefined) throw new UsageError('flag_unknown', `status does not take ${unknown}`);
  if (words.includes('--help')) return { kind: 'print', text: statusHelp() };
  return { kind: 'status', json: words.includes('--json') };
}

/** Every command that reads or changes settings. */
export const COMMANDS: readonly Command[] = [
  ...accountCommands,
  ...siteCommands,
  ...domainCommands,
  ...keyCommands,
  ...destinationCommands,
  ...engageCommands,
  ...engageResultCommands,
  healthCommand,
  tagHealthCommand,
  refusalsCommand,
  scaffoldCommand,
  ...replayCommands,
  ...deadCommands,
  ...funnelCommands,
  correlationCommand,
  trendsCommand,
  retentionCommand,
  ...activityCommands,
  topCommand,
  actorsCommand,
  pathsCommand,
  ...listingCommands,
  eventTraceCommand,
  personSplitCommand,
  queryCommand,
  ...runningQueryCommands,
  ...savedCommands,
  analystCommand,
  ...analystUserCommands,
  ...tokenCommands,
  ...userCommands,
  ...auditCommands,
];

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

/** Options that every command takes. */
const COMMON_OPTIONS: Record<string, OptionSpec> = {
  json: { kind: 'flag', help: 'Print JSON for programs' },
  help: { kind: 'flag', help: 'Show this help' },
};

/** @throws UsageError for an unknown flag, a missing value, a missing option or a wrong number of words. */
function readArguments(command: Command, words: string[]): Arguments {
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

const PROGRAM = 'npm run svc --';
const STATUS_SUMMARY = 'Say what runs where, and whether the edge answers';

/** Help for everything: one line for each command. */
function overview(commands: readonly Command[]): string {
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
function nounHelp(commands: readonly Command[]): string {
  return [
    ...aligned(commands.map((command) => [usageOf(command), command.summary] as const)),
    '',
    'Examples:',
    ...commands.flatMap((command) => command.examples.slice(0, 1).map(example)),
  ].join('\n');
}

/** Help for one command: what it does, its options, examples. */
function commandHelp(command: Command): string {
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

function statusHelp(): string {
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
