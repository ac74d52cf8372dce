import { type StaticDecode, type TObject, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { ConfigError, type Environment } from './config.ts';
import { type VariableFacts, variableOf } from './variable.ts';

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
  const { name, text } = given(facts, env, faults);
  if (text === undefined) {
    if (nullable) return null;
    if (facts.default === undefined) faults.push(`${name} is not set: it must be ${facts.allowed}`);
    return facts.default;
  }
  const value = parsed(schema, text);
  if (!Value.Check(schema, value)) faults.push(`${name} must be ${facts.allowed}`);
  return value;
}

/** The text that was set, and the name under which it was set. */
function given(
  { variable, formerly = '' }: VariableFacts,
  env: Environment,
  faults: string[],
): { name: string; text: string | undefined } {
  const text = env[variable] || undefined;
  const formerText = env[formerly] || undefined;
  if (formerText === undefined) return { name: variable, text };
  if (text !== undefined && text !== formerText) {
    faults.push(`${variable} and ${formerly}, its former name, are set to different values: set ${variable} only`);
  }
  return text === undefined ? { name: formerly, text: formerText } : { name: variable, text };
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
