// What a command is, its options, and the table that a list or a resource is printed as.

import { Option } from 'commander';
import { type ControlClient, pathOf } from '#services/control_api/client.ts';
import type { Meta } from '#services/control_api/fields.ts';
import { renderList, renderTable, renderTime } from '#services/stage/terminal.ts';

/** The arguments of one command, read and known to be complete. */
export interface Arguments {
  subject: string;
  /** Every positional argument. */
  subjects: readonly string[];
  /** Undefined when the option was not given; an empty text was. */
  text(name: string): string | undefined;
  /** The value of a required option. */
  required(name: string): string;
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

/**
 * A command is a value: its words, its options and what it does with the control service. It throws UsageError for what
 * cannot be done, and passes on what the service refuses.
 */
export interface Command {
  /** Noun, verb and arguments, as `site set <SITE>`; `[LETTER...]` are any number, also none. */
  usage: string;
  summary: string;
  /** What the first argument is. */
  subject?: string;
  options?: readonly Option[];
  /** Where the usage does not say enough. */
  examples?: readonly string[];
  /** The verb may be left out. */
  isDefault?: true;
  run(args: Arguments, context: Context): Promise<Outcome>;
}

/** Exit status: 0 done, 1 it failed though the request was sound, 2 the request cannot be done. */
export interface CliResult {
  exitCode: 0 | 1 | 2;
  stdout: string;
  stderr: string;
}

/** What was typed cannot be done: one line for the terminal, and exit status 2. */
export class UsageError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** An option, as `name <TEXT>`, or as `name` for a flag. */
export function option(flags: string, help: string): Option {
  const made = new Option(`--${flags}`, help);
  return made.required ? made.argParser(checkValue(flags)) : made;
}

/** An option that must be given. */
export function requiredOption(flags: string, help: string): Option {
  const read = checkValue(flags);
  return new Option(`--${flags}`, help).makeOptionMandatory().argParser((value) => {
    if (value === '') throw new UsageError('flag_missing', `--${flags} is missing: ${help}`);
    return read(value);
  });
}

/** An option that may be given several times. */
export function repeatableOption(flags: string, help: string): Option {
  const read = checkValue(flags);
  const collect = (value: string, before: string[] = []): string[] => [...before, read(value)];
  return new Option(`--${flags}`, `${help} (repeatable)`).argParser(collect);
}

/** The next option is not taken for the value of one whose value was forgotten. */
function checkValue(flags: string): (value: string) => string {
  return (value) => {
    if (value.startsWith('--')) throw new UsageError('flag_value_missing', `--${flags} has no value`);
    return value;
  };
}

export const siteOption = requiredOption('site <SITE>', 'The site it belongs to');

/** A path below the site that `--site` names. */
export const pathInSite = (args: Arguments, ...parts: string[]): string =>
  pathOf('sites', args.required('site'), ...parts);

/** What a cell is made of. */
type Cell = string | number | boolean | null | undefined | readonly string[];

/** The columns of a table: the field of an item, or what is made of it. */
export type Columns<Item> = Record<string, (keyof Item & string) | ((item: Item) => Cell)>;

/** Items as a table; the note when there are none. */
export function table<Item extends object>(columns: Columns<Item>, items: readonly Item[], whenEmpty = ''): string {
  const cell = (item: Item, column: Columns<Item>[string]): string =>
    typeof column === 'function' ? cellOf(column(item)) : cellOf(Reflect.get(item, column) as Cell, column);
  const rows = items.map((item) => Object.values(columns).map((column) => cell(item, column)));
  return renderTable(Object.keys(columns), rows, whenEmpty);
}

const TIME_FIELD = /(?:^from|^to|_at|_since)$/;

function cellOf(value: Cell, field = ''): string {
  if (value === null || value === undefined || value === '') return '-';
  if (typeof value === 'object') return renderList(value);
  return typeof value === 'number' && TIME_FIELD.test(field) ? renderTime(value) : String(value);
}

interface List<Item> {
  noun: string;
  summary: string;
  path: string | ((args: Arguments) => string);
  columns: Columns<Item>;
  whenEmpty: string;
  options?: readonly Option[];
  /** Which option is which parameter of the query. */
  filters?: Record<string, string>;
  examples?: readonly string[];
}

/** The command that prints every item of a list. */
export function listCommand<Item extends object>(list: List<Item>): Command {
  const { noun, summary, path, columns, whenEmpty, options = [], filters = {} } = list;
  return {
    usage: `${noun} list`,
    summary,
    options,
    examples: list.examples ?? [`${noun} list`, `${noun} list --json`],
    async run(args, { client }) {
      const query = Object.fromEntries(Object.entries(filters).map(([name, field]) => [field, args.text(name)]));
      const items = await client.list<Item>(typeof path === 'string' ? path : path(args), query);
      return { text: table(columns, items, whenEmpty), json: items.map(withoutMeta) };
    },
  };
}

/** A resource without what is known of it beside its own fields. */
export function withoutMeta<Item extends object>(item: Item): Omit<Item, keyof Meta> {
  if (!('version' in item)) return item;
  const { version: _version, changed_at: _changedAt, changed_by: _changedBy, ...fields } = item as Item & Meta;
  return fields as Omit<Item, keyof Meta>;
}

/** What was done with a resource, as a line and as the resource. */
export function done(text: string, item: object): Outcome {
  return { text, json: withoutMeta(item) };
}

/** Changes a resource as it was read: a change in between is refused. */
export async function change<Item extends Meta>(
  client: ControlClient,
  path: string,
  changeOf: (before: Item) => object,
): Promise<Item> {
  const before = await client.get<Item>(path);
  return client.send<Item>('PATCH', path, before.version, changeOf(before));
}

/** Deletes a resource as it was read. */
export async function remove<Item extends Meta>(client: ControlClient, path: string): Promise<Item> {
  const { version } = await client.get<Item>(path);
  return client.send<Item>('DELETE', path, version);
}
