// How a variable of the environment is declared, checked and read. Only this file reads process.env.
import { isIP } from 'node:net';
import {
  type StaticDecode,
  type TNull,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnion,
  Type,
} from 'typebox';
import { Value } from 'typebox/value';

export type Environment = Readonly<Record<string, string | undefined>>;

export function environment(): Environment {
  return process.env;
}

/** Everything that is wrong with the environment, a line for each fault. No line holds a value that was set. */
export class ConfigError extends Error {
  readonly code = 'config_invalid';
  readonly recovery = 'stop';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(['the environment cannot be used:', ...faults.map((fault) => `  ${fault}`)].join('\n'));
    this.faults = faults;
  }
}

/**
 * The typed value of a schema whose fields are variables of the environment. A variable that is empty is not set.
 *
 * @throws ConfigError with every fault there is.
 */
export function readSettings<S extends TObject>(schema: S, env: Environment): StaticDecode<S> {
  const faults: string[] = [];
  const value = readObject(schema, env, faults);
  if (faults.length > 0) throw new ConfigError(faults);
  return Value.Decode(schema, value);
}

function readObject(schema: TObject, env: Environment, faults: string[]): Record<string, unknown> {
  const faultsBefore = faults.length;
  const fields = Object.entries(schema.properties).map(([name, field]) => [
    name,
    Type.IsObject(field) ? readObject(field, env, faults) : readVariable(field, env, faults),
  ]);
  const value: Record<string, unknown> = Object.fromEntries(fields);
  // Rules between variables are checked only if each variable is valid by itself.
  if (faults.length === faultsBefore) faults.push(...Value.Errors(schema, value).map(({ message }) => message));
  return value;
}

function readVariable(field: TSchema, env: Environment, faults: string[]): unknown {
  const { facts, schema, nullable } = variableOf(field);
  const { variable, allowed } = facts;
  const text = env[variable];
  if (!text) {
    if (nullable) return null;
    if (facts.default === undefined) faults.push(`${variable} is not set: it must be ${allowed}`);
    return facts.default;
  }
  const value = parsed(schema, text);
  if (!Value.Check(schema, value)) faults.push(`${variable} must be ${allowed}`);
  return value;
}

const FLAGS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** The value of a text; the text itself if it cannot be converted, which the schema then refuses. */
function parsed(schema: TSchema, text: string): unknown {
  if (Type.IsInteger(schema)) return /^-?\d{1,16}$/.test(text) ? Number(text) : text;
  if (Type.IsBoolean(schema)) return FLAGS.get(text) ?? text;
  if (Type.IsEnum(schema)) return text.toLowerCase();
  if (!Type.IsArray(schema)) return text;
  const items = text.split(',').map((item) => item.trim());
  return items.filter((item) => item !== '');
}

/** What the schema of a variable says beside its type. */
export interface VariableFacts {
  /** Its name in the environment. */
  variable: string;
  /** A sentence for docs/configuration.md. */
  description: string;
  /** What its value may be, in words that complete "must be". */
  allowed: string;
  /** Its value if it is not set. Without a default it must be set, unless its schema accepts null. */
  default?: string | number | boolean | readonly string[];
  /** The default in words, if the schema cannot express it. */
  defaultText?: string;
  /** What `npm start` uses instead of the default. */
  startDefault?: string;
}

/** Facts as they are written down: a TypeBox schema has its default under the same name. */
type Facts<T> = Omit<VariableFacts, 'variable' | 'allowed' | 'default'> & { default?: T; allowed?: string };

type IntegerFacts = Facts<number> & { minimum?: number; maximum?: number; range?: readonly [number, number] };

/** A whole number; `range` has its minimum and maximum. */
export function integer(variable: string, { range, ...facts }: IntegerFacts) {
  const [minimum, maximum] = range ?? [facts.minimum ?? 0, facts.maximum ?? Number.MAX_SAFE_INTEGER];
  const allowed = `a whole number from ${minimum}${maximum < Number.MAX_SAFE_INTEGER ? ` to ${maximum}` : ''}`;
  return Type.Integer({ allowed, ...facts, variable, minimum, maximum });
}

/** A whole number of units, which is read as the smaller unit that the code counts in. */
export function scaled(variable: string, unit: number, facts: IntegerFacts) {
  return Type.Decode(integer(variable, facts), (amount) => amount * unit);
}

/** `true`, `false`, `1` or `0`. */
export function flag(variable: string, facts: Facts<boolean>) {
  return Type.Boolean({ allowed: 'true or false', ...facts, variable });
}

/** One of several words, in upper or lower case. */
export function choice<const Words extends string[]>(
  variable: string,
  words: readonly [...Words],
  facts: Facts<Words[number]>,
) {
  const allowed = words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  return Type.Enum(words, { allowed, ...facts, variable });
}

type TextFacts = Facts<string> & { pattern?: string; check?: (value: string) => boolean };

/** Any text, or a text that a pattern or a check allows. */
export function text(variable: string, facts: TextFacts) {
  const { check, ...options } = facts;
  const schema = Type.String({ allowed: 'any text', ...options, variable });
  return check === undefined ? schema : Type.Refine(schema, check);
}

export function optionalText(variable: string, facts: TextFacts) {
  return orNull(text(variable, facts));
}

export const HTTP_URL = { pattern: '^https?://.', allowed: 'an http or https URL' };
export const PUBLIC_URL = {
  check: isPublicUrl,
  allowed: 'an https URL without a path, or an http one of this machine',
};

export const listenHost = (variable: string, description = 'Address to listen on.') =>
  text(variable, { default: '127.0.0.1', allowed: 'an address of this machine', description });

/** Texts separated by commas. */
export function list(
  variable: string,
  facts: Facts<string[]> & { allowed: string; check: (item: string) => boolean; minItems?: number },
) {
  const { check, ...options } = facts;
  return Type.Array(Type.Refine(Type.String(), check), { ...options, variable });
}

/** The same variable, null if it is not set. */
export function orNull<S extends TSchema>(schema: S): TUnion<[S, TNull]> {
  return Type.Union([schema, Type.Null()]);
}

/** A variable of a schema, with the schema of its value. */
export interface Variable {
  facts: VariableFacts;
  schema: TSchema;
  nullable: boolean;
}

function variableOf(field: TSchema): Variable {
  const nullable = Type.IsUnion(field);
  const schema = nullable ? (field.anyOf[0] ?? field) : field;
  return { facts: schema as unknown as VariableFacts, schema, nullable };
}

/** All variables of a schema's fields, nested ones too, in their order. */
export function variablesOf(properties: TProperties): Variable[] {
  return Object.values(properties).flatMap((field) =>
    Type.IsObject(field) ? variablesOf(field.properties) : [variableOf(field)],
  );
}

/** `host:port`. */
export function isHostAndPort(text: string): boolean {
  const [, port = '0'] = /^(?:[^\s:/]+|\[[0-9a-f:]+\]):(\d{1,5})$/i.exec(text) ?? [];
  return Number(port) > 0 && Number(port) <= 65_535;
}

/** An IP address, with a port or without. */
export function isAddressWithPort(text: string): boolean {
  const bare = /^\[(.+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? text.replace(/^([\d.]+):\d{1,5}$/, '$1');
  return isIP(bare) !== 0;
}

/** The name or address of a host, as a Host header has it, with a port or without. */
export function isHostName(text: string): boolean {
  return /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/.test(text);
}

/** The origin of a page that may have cookies. */
function isPublicUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && url.href === `${url.origin}/` && isPrivateUrl(url);
}

/** Whether nobody on the way reads what is sent to an address. */
export function isPrivateUrl({ protocol, hostname }: URL): boolean {
  const isOwnMachine = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isOwnMachine);
}

/** A name of two labels or more, in lower case. */
export function isDomainName(text: string): boolean {
  return text.length <= 200 && /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/.test(text);
}

const BITS: Record<number, number> = { 4: 32, 6: 128 };

/** An IP address, or a range of them in CIDR notation. */
export function isAddressOrRange(text: string): boolean {
  const [address = '', prefix = '0', ...rest] = text.split('/');
  const bits = BITS[isIP(address)];
  return rest.length === 0 && bits !== undefined && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits;
}

/** Whether a base64 text decodes to at least that many bytes. */
export function isBase64Of(bytesMin: number): (text: string) => boolean {
  return (text) => Buffer.from(text, 'base64').length >= bytesMin;
}
