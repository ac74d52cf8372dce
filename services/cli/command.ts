// What a command is, its options, and the table that a list or a resource is printed as.

import { Option } from 'commander';
import type { Environment } from '#infra/config/environment.ts';
import type { CommandLineConfig } from '#infra/config/local_config.ts';
import type { IdentitySettings } from '#infra/secrets/seal.ts';
import { type ControlClient, pathOf, type Query } from '#services/control_api/client.ts';
import type { Meta } from '#services/control_api/fields.ts';
import { renderList, renderTable, renderTime } from '#services/stage/terminal.ts';
import type { PasswordChanges } from './password/password_commands.ts';

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
  /** What the options give that are fields of the request; those that were not given are left out. @throws UsageError */
  fields(): Record<string, unknown>;
}

/** Everything a command may use beside its arguments. */
export interface Context {
  client: ControlClient;
  nowMs: number;
  readFile(path: string): string;
  readStdin(): string;
  /** The edge and a server key for it, as the environment names them. */
  edge: { url: string | null; key: string | null };
  /** The program that reads Parquet; null: the embedded one. */
  clickhouse: string | null;
  /** Where buckets are, and keys for them. */
  s3: CommandLineConfig['s3'];
  /** The identity secret of the environment, and the key that it seals; null where none is set. */
  identity: IdentitySettings | null;
  randomBytes(bytes: number): Uint8Array;
  /** What names the parts: the environment, completed by what runs here. */
  partsEnvironment: Environment;
  /** Opened where passwords are changed. */
  passwords(): Promise<PasswordChanges>;
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
 * A command is a value: its options and what it does with the control service. It throws UsageError for what cannot be done,
 * and passes on what the service refuses.
 */
export interface Command {
  summary: string;
  /** What the first argument is. */
  subject?: string;
  options?: readonly CliOption[];
  /** Where the usage does not say enough. */
  examples?: readonly string[];
  /** The verb may be left out. */
  isDefault?: true;
  run(args: Arguments, context: Context): Promise<Outcome>;
}

/** By noun, verb and arguments, as `site set <SITE>`; `[LETTER...]` are any number, also none. */
export type Commands = Readonly<Record<string, Command>>;

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

/** Makes of what was typed what the API takes. @throws UsageError */
type Read = (text: string, option: string, nowMs: number) => unknown;

/** An option, and which field of the request it is. */
export class CliOption extends Option {
  readonly field: string | undefined;
  readonly read: Read;

  constructor(flags: string, help: string, field?: string, read?: Read) {
    super(`--${flags}`, help);
    this.field = field;
    this.read = read ?? (this.required ? (text) => text : () => true);
    if (this.required) this.argParser(checkValue(flags));
  }
}

/** An option, as `name <TEXT>`, or as `name` for a flag, whose field is true unless `read` makes something else of it. */
export function option(flags: string, help: string, field?: string, read?: Read): CliOption {
  return new CliOption(flags, help, field, read);
}

/** An option that must be given. */
export function requiredOption(flags: string, help: string, field?: string, read?: Read): CliOption {
  const check = checkValue(flags);
  return option(flags, help, field, read)
    .makeOptionMandatory()
    .argParser((value) => {
      if (value === '') throw new UsageError('flag_missing', `--${flags} is missing: ${help}`);
      return check(value);
    });
}

/** An option that may be given several times; its field is a list. */
export function repeatableOption(flags: string, help: string, field?: string, read?: Read): CliOption {
  const check = checkValue(flags);
  const collect = (value: string, before: string[] = []): string[] => [...before, check(value)];
  return option(flags, `${help} (repeatable)`, field, read).argParser(collect);
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

/** The path of the resource of a collection that the first argument names. */
export const pathIn =
  (collection: string, ...below: string[]) =>
  ({ subject }: Arguments): string =>
    pathOf(collection, subject, ...below);

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

interface List<Item> extends Pick<Command, 'summary' | 'options' | 'examples'> {
  path: string | ((args: Arguments) => string);
  columns: Columns<Item>;
  whenEmpty: string;
  /** The list comes in one answer, without pages. */
  isWhole?: true;
}

/** The command that prints every item of a list; its options are parameters of the query. */
export function list<Item extends object>({ path, columns, whenEmpty, isWhole, ...command }: List<Item>): Command {
  return {
    ...command,
    async run(args, { client }) {
      const at = typeof path === 'string' ? path : path(args);
      const query = args.fields() as Query;
      const items = isWhole
        ? (await client.get<{ items: Item[] }>(at, query)).items
        : await client.list<Item>(at, query);
      return { text: table(columns, items, whenEmpty), json: items.map(withoutMeta) };
    },
  };
}

/** Sends one request, and says what came of it. The body is what the options give, with what is `more`. */
export function send<Item extends object>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: (args: Arguments) => string,
  outcomeOf: (item: Item) => Outcome,
  more?: (args: Arguments, context: Context) => object,
): Command['run'] {
  return async (args, context) => {
    const body = more === undefined ? undefined : { ...args.fields(), ...more(args, context) };
    return outcomeOf(await context.client.send<Item>(method, path(args), null, body));
  };
}

/** Reads one resource, and says what it is. */
export function show<Item extends object>(
  path: (args: Arguments) => string,
  outcomeOf: (item: Item, args: Arguments) => Outcome,
): Command['run'] {
  return async (args, { client }) => outcomeOf(await client.get<Item>(path(args), args.fields() as Query), args);
}

export function withoutMeta<Item extends object>(item: Item): Omit<Item, keyof Meta> {
  if (!('version' in item)) return item;
  const { version: _version, changed_at: _changedAt, changed_by: _changedBy, ...fields } = item as Item & Meta;
  return fields as Omit<Item, keyof Meta>;
}

/** What was done with a resource, as lines and as the resource. */
export function done(text: string | readonly string[], item: object): Outcome {
  return { text: typeof text === 'string' ? text : text.join('\n'), json: withoutMeta(item) };
}

/** A secret that is shown once, and the fields beside it. */
export function doneOnce(title: string, secret: string, json: object): Outcome {
  const lines = [title, '', `  ${secret}`, '', 'It is shown only once and not stored: copy it now.'];
  return { text: lines.join('\n'), json: { secret, ...json } };
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

export async function remove<Item extends Meta>(client: ControlClient, path: string): Promise<Item> {
  const { version } = await client.get<Item>(path);
  return client.send<Item>('DELETE', path, version);
}
