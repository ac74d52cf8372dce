import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command, Outcome } from './command.ts';
import {
  filled,
  NAME,
  PAGE,
  REGISTRY,
  type ScaffoldFile,
  TEMPLATES,
  withRegistered,
  withRow,
} from './scaffold_files.ts';
import { UsageError } from './usage_error.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = new URL('./scaffold/', import.meta.url);

export const scaffoldCommand: Command = {
  noun: 'destination',
  verb: 'scaffold',
  summary: 'Write a new kind of destination that works, with its tests, into this project',
  subject: { name: 'NAME', help: 'what it shall be called: lower-case letters, digits and _' },
  options: {},
  examples: ['destination scaffold klaviyo'],
  run: async ({ subject }) => outcomeOf(subject, scaffold(ROOT, subject)),
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
  const files = [...newFiles(name), ...changedFiles(root, name)];
  const taken = files.slice(0, TEMPLATES.length).find(({ path }) => existsSync(join(root, path)));
  if (taken !== undefined) throw new UsageError('destination_exists', `${taken.path} is there already`);
  for (const { path, text } of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return files.map(({ path }) => path);
}

function newFiles(name: string): ScaffoldFile[] {
  return TEMPLATES.map(([template, path]) => ({
    path: filled(path, name),
    text: filled(readFileSync(new URL(template, FOLDER), 'utf8'), name),
  }));
}

function changedFiles(root: string, name: string): ScaffoldFile[] {
  return [
    changed(root, REGISTRY, (text) => withRegistered(text, name)),
    changed(root, PAGE, (text) => withRow(text, name)),
  ];
}

function changed(root: string, path: string, change: (text: string) => string | null): ScaffoldFile {
  const text = change(readFileSync(join(root, path), 'utf8'));
  if (text === null) throw new UsageError('scaffold_place_unknown', `${path} has no place for a line any more`);
  return { path, text };
}

function outcomeOf(name: string, paths: string[]): Outcome {
  const text = [
    `Destination ${name} written:`,
    ...paths.map((path) => `  ${path}`),
    '',
    `Try it: npm test -- test/contract/delivery -t ${name}:`,
    'Then: docs/adding-a-destination.md',
  ].join('\n');
  return { text, json: { name, paths } };
}
