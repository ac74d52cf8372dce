import type { DestinationItem } from '#services/control_api/destination_shapes.ts';
import { unchanged } from './changes.ts';
import type { Arguments, Context, OptionSpec } from './command.ts';
import { readText } from './inputs.ts';
import { UsageError } from './usage_error.ts';
import { readPair } from './values.ts';

/** What can be given when a destination is created and when it is changed. */
export const DESTINATION_OPTIONS: Record<string, OptionSpec> = {
  set: { kind: 'texts', value: 'NAME=VALUE', help: 'A setting (repeatable)' },
  secret: { kind: 'texts', value: 'NAME=VALUE', help: 'A secret; shells keep what is typed, so prefer the next two' },
  'secret-file': { kind: 'texts', value: 'NAME=FILE', help: 'A secret, read from a file (repeatable)' },
  'secret-stdin': { kind: 'text', value: 'NAME', help: 'A secret, read from standard input' },
};

export const DESTINATION_REMOVALS: Record<string, OptionSpec> = {
  unset: { kind: 'texts', value: 'NAME', help: 'Remove a setting or secret (repeatable)' },
};

/** Settings and secrets that were given. */
export function givenSettings(args: Arguments, context: Context) {
  return { settings: pairs(args.texts('set'), 'set'), secrets: givenSecrets(args, context) };
}

/**
 * What is to be set and, by null, removed. A secret that is given again counts as changed: nobody can say whether it is.
 *
 * @throws UsageError for removing what is not there, and when nothing would change.
 */
export function changedSettings(before: DestinationItem, args: Arguments, context: Context): object {
  const removed = args.texts('unset');
  refuseAbsent(before, removed);
  const { settings, secrets } = givenSettings(args, context);
  const isChanged = Object.entries(settings).some(([name, value]) => before.settings[name] !== value);
  if (!isChanged && removed.length === 0 && Object.keys(secrets).length === 0) throw unchanged();
  const nulls = (names: string[]) =>
    Object.fromEntries(removed.filter((name) => names.includes(name)).map((name) => [name, null]));
  return {
    settings: { ...nulls(Object.keys(before.settings)), ...settings },
    secrets: { ...nulls(before.secrets), ...secrets },
  };
}

/** @throws UsageError when a secret is given twice, in whatever way: which one counts would be a guess. */
function givenSecrets(args: Arguments, context: Context): Record<string, string> {
  const typed = args.texts('secret').map((text) => readPair(text, 'secret'));
  const files = args.texts('secret-file').map((text) => {
    const [name, path] = readPair(text, 'secret-file');
    return [name, withoutLineEnd(readText(context, path))] as const;
  });
  const piped = args.text('secret-stdin');
  const stdin = piped === undefined ? [] : [[piped, withoutLineEnd(context.readStdin())] as const];
  return uniquePairs([...typed, ...files, ...stdin], 'secret');
}

/** Editors and echo end a file with a line break that is no part of the secret. */
function withoutLineEnd(text: string): string {
  return text.replace(/\r?\n$/, '');
}

function pairs(texts: string[], option: string): Record<string, string> {
  return uniquePairs(
    texts.map((text) => readPair(text, option)),
    option,
  );
}

function uniquePairs(entries: (readonly [string, string])[], option: string): Record<string, string> {
  const names = entries.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError('pair_repeated', `the ${option} ${twice} is given twice`);
  return Object.fromEntries(entries);
}

function refuseAbsent(before: DestinationItem, removed: readonly string[]): void {
  const there = [...Object.keys(before.settings), ...before.secrets];
  const absent = removed.find((name) => !there.includes(name));
  if (absent !== undefined) throw new UsageError('not_there', `${absent} is not set, so it cannot be removed`);
}
