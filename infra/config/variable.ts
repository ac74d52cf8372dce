import { type TNull, type TProperties, type TSchema, type TUnion, Type } from 'typebox';

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
  /** Its name in the previous version, which is still read. */
  formerly?: string;
  /** The default in words, if the schema cannot express it. */
  defaultText?: string;
  /** What `npm start` uses instead of the default. */
  startDefault?: string;
}

/** Facts as they are written down: a TypeBox schema has its default under the same name. */
type Facts<T> = Omit<VariableFacts, 'variable' | 'allowed' | 'default'> & { default?: T; allowed?: string };

interface Bounds {
  minimum?: number;
  maximum?: number;
}

/** A whole number. */
export function integer(variable: string, facts: Facts<number> & Bounds) {
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = facts;
  const allowed = `a whole number from ${minimum}${maximum < Number.MAX_SAFE_INTEGER ? ` to ${maximum}` : ''}`;
  return Type.Integer({ allowed, ...facts, variable, minimum, maximum });
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

/** Any text, or a text that a pattern or a check allows. */
export function text(
  variable: string,
  facts: Facts<string> & { pattern?: string; check?: (value: string) => boolean },
) {
  const { check, ...options } = facts;
  const schema = Type.String({ allowed: 'any text', ...options, variable });
  return check === undefined ? schema : Type.Refine(schema, check);
}

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

/** The variable that a field of a schema is read from. */
export function variableOf(field: TSchema): Variable {
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
