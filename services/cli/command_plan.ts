import { readArguments } from './arguments.ts';
import type { Arguments, Command } from './command.ts';
import { COMMANDS } from './commands.ts';
import { commandHelp, nounHelp, overview, statusHelp } from './help.ts';
import { UsageError } from './usage_error.ts';

/** What was asked for: a text to print, the status, or a command with its arguments. */
export type Plan =
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
