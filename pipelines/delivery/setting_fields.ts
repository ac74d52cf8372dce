import { type TObject, type TSchema, Type } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { Adapter } from './contract.ts';

interface FieldOptions {
  title: string;
  /** Its value is an address that is called: one that the guard against internal addresses refuses is refused when it is set. */
  called?: true;
  description?: string;
  pattern?: string;
  default?: string;
}

/** A setting whose value is sealed at rest and never shown again. */
export const secretField = (options: FieldOptions) => Type.String({ ...options, secret: true, minLength: 1 });

export const textField = (options: FieldOptions) => Type.String({ ...options, minLength: 1 });

/** A text that a function checks, where a pattern cannot say what is right. */
export const checkedField = (options: FieldOptions, isValid: (value: string) => boolean) =>
  Type.Refine(textField(options), isValid, () => 'is malformed');

/** A setting that is one of a few words. */
export const choiceField = <const Values extends string[]>(
  values: readonly [...Values],
  options: FieldOptions & { default: Values[number] },
) => Type.Enum<Values>(values, { ...options });

const isSecret = (field: TSchema): boolean => 'secret' in field && field.secret === true;

/** Names of the fields whose values are addresses that are called. */
export const calledNames = (schema: TObject): string[] =>
  Object.entries(schema.properties)
    .filter(([, field]) => 'called' in field && field.called === true)
    .map(([name]) => name);

/** Names of the fields whose values must be sealed. */
export const secretNames = (schema: TObject): string[] =>
  Object.entries(schema.properties)
    .filter(([, field]) => isSecret(field))
    .map(([name]) => name);

export type SettingsResult<Settings> =
  | { kind: 'settings'; settings: Settings }
  /** Names of the fields that are missing or malformed; values are left out, as they may be secrets. */
  | { kind: 'invalid'; fields: string[] };

const validators = new WeakMap<TObject, Validator>();

function validatorOf(schema: TObject): Validator {
  const known = validators.get(schema) ?? Compile(schema);
  validators.set(schema, known);
  return known;
}

/** The settings that a schema gives where a site says nothing. */
export function defaultsOf(schema: TObject): Record<string, string> {
  const fields = Object.entries(schema.properties);
  return Object.fromEntries(
    fields.flatMap(([name, field]) =>
      'default' in field && typeof field.default === 'string' ? [[name, field.default]] : [],
    ),
  );
}

const fieldOf = (error: { instancePath: string; params: object }): string[] => {
  if (error.instancePath !== '') return [error.instancePath.slice(1)];
  return 'requiredProperties' in error.params && Array.isArray(error.params.requiredProperties)
    ? error.params.requiredProperties.map(String)
    : [];
};

/**
 * Joins a site's settings and opened secrets for a destination, with defaults for what is absent or empty, and checks
 * them against the destination's schema. Fields the schema does not know are left out.
 */
export function readSettings<Settings>(
  adapter: Adapter<Settings>,
  settings: Record<string, string>,
  secrets: Record<string, string>,
): SettingsResult<Settings> {
  const secret = new Set(secretNames(adapter.schema));
  const given = Object.keys(adapter.schema.properties).flatMap((name) => {
    const value = (secret.has(name) ? secrets : settings)[name];
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });
  const joined = { ...defaultsOf(adapter.schema), ...Object.fromEntries(given) };
  const validator = validatorOf(adapter.schema);
  if (validator.Check(joined)) return { kind: 'settings', settings: joined as Settings };
  return { kind: 'invalid', fields: [...new Set(validator.Errors(joined).flatMap(fieldOf))] };
}
