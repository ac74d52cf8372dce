import { destinationSettingProblems } from '#pipelines/settings/destination_settings.ts';
import { destinationProblems } from '#pipelines/settings/validate.ts';
import type { Destination } from '#schemas/setting.ts';
import type { Arguments } from './arguments.ts';
import { refuseProblems } from './changes.ts';
import type { Context, OptionSpec } from './command.ts';
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

/**
 * The destination with the arguments applied, its new secrets sealed.
 *
 * @throws UsageError when it is of no known kind or its settings do not fit that kind.
 */
export function changedDestination(before: Destination, args: Arguments, context: Context): Destination {
  const removed = args.texts('unset');
  refuseAbsent(before, removed);
  const settings = { ...without(before.settings, removed), ...pairs(args.texts('set'), 'set') };
  const stored = without(before.secrets, removed);
  const given = givenSecrets(args, context);
  checkSettings(before.name, context, { settings, secrets: given, storedSecrets: Object.keys(stored) });
  const destination = { ...before, settings, secrets: { ...stored, ...sealed(before, given, context) } };
  refuseProblems(destinationProblems(destination, context.table));
  return destination;
}

function checkSettings(
  name: string,
  { adapters }: Context,
  draft: Parameters<typeof destinationSettingProblems>[1],
): void {
  const adapter = adapters.find((candidate) => candidate.name === name);
  if (adapter === undefined) {
    const names = adapters.map((candidate) => candidate.name).join(', ');
    throw new UsageError('destination_unknown', `there is no destination ${name}; there are ${names}`);
  }
  refuseProblems(destinationSettingProblems(adapter, draft));
}

/** Sealing makes new bytes each time, so a secret that is given again counts as changed. */
function sealed(
  { site_id: siteId, name: destination }: Destination,
  given: Record<string, string>,
  context: Context,
): Record<string, string> {
  const entries = Object.entries(given);
  return Object.fromEntries(
    entries.map(([field, value]) => [field, context.seal({ siteId, destination, field }, value)]),
  );
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

function without(values: Record<string, string>, removed: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !removed.includes(name)));
}

function refuseAbsent(before: Destination, removed: readonly string[]): void {
  const there = [...Object.keys(before.settings), ...Object.keys(before.secrets)];
  const absent = removed.find((name) => !there.includes(name));
  if (absent !== undefined) throw new UsageError('not_there', `${absent} is not set, so it cannot be removed`);
}
