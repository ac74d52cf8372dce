// Writes a new destination's folder from templates.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Commands, done, type Outcome, UsageError } from './command.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = new URL('./scaffold/', import.meta.url);

export const scaffoldCommands: Commands = {
  'destination scaffold <NAME>': {
    summary: 'Generate the code of a new kind of destination, with its tests, in this project',
    subject: 'its name: lower-case letters, digits and _',
    run: async ({ subject }) => outcomeOf(subject, scaffold(ROOT, subject)),
  },
};

/**
 * Writes a destination's folder, its cases, its line in the registry and its row in the docs.
 *
 * @returns the paths written, the two that were changed last.
 * @throws UsageError for a name that cannot be one or is taken, before anything is written.
 */
export function scaffold(root: string, name: string): string[] {
  if (!NAME.test(name))
    throw new UsageError('destination_name_malformed', 'a name has lower-case letters, digits and _');
  const made = TEMPLATES.map(([template, path]) => ({
    path: filled(path, name),
    text: filled(readFileSync(new URL(template, FOLDER), 'utf8'), name),
  }));
  const files = [
    ...made,
    changed(root, REGISTRY, (text) => withRegistered(text, name)),
    changed(root, PAGE, (text) => withRow(text, name)),
  ];
  const taken = made.find(({ path }) => existsSync(join(root, path)));
  if (taken !== undefined) throw new UsageError('destination_exists', `${taken.path} is there already`);
  for (const { path, text } of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return files.map(({ path }) => path);
}

/** A file with a line more. */
function changed(root: string, path: string, change: (text: string) => string | null) {
  const text = change(readFileSync(join(root, path), 'utf8'));
  if (text === null) throw new UsageError('scaffold_place_unknown', `${path} has no place for a line any more`);
  return { path, text };
}

function outcomeOf(name: string, paths: string[]): Outcome {
  const lines = [
    `Destination ${name} written:`,
    ...paths.map((path) => `  ${path}`),
    '',
    `Try it: npm test -- test/contract/delivery -t ${name}:`,
    'Then: docs/adding-a-destination.md',
  ];
  return done(lines, { name, paths });
}

/** Each template with where it goes; `__name__` stands for the destination's name. */
const TEMPLATES = [
  ['map.ts.txt', 'pipelines/delivery/destinations/__name__/map.ts'],
  ['adapter.ts.txt', 'pipelines/delivery/destinations/__name__/adapter.ts'],
  ['subject.ts.txt', 'test/contract/delivery/destinations/__name__.ts'],
  ['cases.ts.txt', 'test/contract/delivery/destinations/__name___cases.ts'],
  ['answers.ts.txt', 'test/contract/delivery/destinations/__name___answers.ts'],
] as const;

export const REGISTRY = 'pipelines/delivery/registry.ts';
export const PAGE = 'docs/destinations.md';

/** Lower-case letters, digits and underscores, as part of topic names; a letter first and last. */
const NAME = /^[a-z](?:[a-z0-9_]{0,30}[a-z0-9])?$/;

const upperFirst = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** A template's text, or a path, for a destination. */
function filled(text: string, name: string): string {
  const parts = name.split('_').filter((part) => part !== '');
  const [first = '', ...others] = parts;
  const camel = first + others.map(upperFirst).join('');
  const words: Record<string, string> = { name, host: parts.join('-'), camel, Title: parts.map(upperFirst).join(' ') };
  return text.replace(/__(name|host|camel|Title)__/g, (_, word: string) => words[word] ?? '');
}

const pathOf = (line: string): string => /'(.*)'/.exec(line)?.[1] ?? '';

/** The registry with one destination more; null where its form is not known any more. */
function withRegistered(registry: string, name: string): string | null {
  const lines = registry.split('\n');
  const isImport = (line: string): boolean => line.includes("from './destinations/");
  const added = filled("import { __camel__ } from './destinations/__name__/adapter.ts';", name);
  const last = lines.findLastIndex(isImport);
  const next = lines.findIndex((line) => isImport(line) && pathOf(line) > pathOf(added));
  if (last < 0) return null;
  lines.splice(next < 0 ? last + 1 : next, 0, added);
  const list = lines.indexOf('export const DESTINATIONS: readonly Adapter[] = [');
  const end = lines.indexOf('];', list);
  if (list < 0 || end < 0) return null;
  lines.splice(end, 0, filled('  __camel__,', name));
  return lines.join('\n');
}

const ROW =
  '| `__name__` | __Title__ | 500 | 7 days | once | skipped | `account_id`, `event_names`, `base_url` | `access_token` |';

/** The page with a row for the destination after the others; null where it has no table. */
function withRow(page: string, name: string): string | null {
  const lines = page.split('\n');
  const last = lines.findLastIndex((line) => line.startsWith('| `'));
  if (last < 0) return null;
  lines.splice(last + 1, 0, filled(ROW, name));
  return lines.join('\n');
}
