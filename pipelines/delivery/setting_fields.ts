// Fields of a destination's settings, and names that a site chooses for its events.

import { type TObject, type TSchema, Type } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { folded } from '#pipelines/events/vocabulary.ts';
import type { Adapter } from './contract.ts';

interface FieldOptions {
  title: string;
  /** Its value is an address that is called: one that the guard against internal addresses refuses is refused when it is set. */
  called?: true;
  description?: string;
  pattern?: string;
  default?: string;
}

interface SecretOptions extends FieldOptions {
  /** Requests are signed with it, and it is in none of them: who receives them does not learn it. */
  signs?: true;
}

/** A setting whose value is sealed at rest and never shown again. */
export const secretField = (options: SecretOptions) => Type.String({ ...options, secret: true, minLength: 1 });

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

/** Names of the secrets that are sent to the address that is called. */
export const sentSecretNames = (schema: TObject): string[] =>
  secretNames(schema).filter((name) => !('signs' in (schema.properties[name] ?? {})));

type SettingsResult<Settings> =
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

const TEXT = '[^=,\\n]{1,200}';

/**
 * The setting by which a site chooses a platform's names for its events: pairs of an event's name and the platform's.
 *
 * @param namePattern what the platform's names look like.
 */
export function eventNamesField(title: string, description: string, example = 'quiz_done=Lead', namePattern = TEXT) {
  const pair = `${TEXT}=${namePattern}`;
  return textField({
    title,
    description: `${description} Pairs such as ${example}, separated by commas or lines; they go before standard names.`,
    pattern: `^${pair}([,\\n]${pair})*$`,
  });
}

const chosenBySettings = new WeakMap<object, ReadonlyMap<string, string>>();

function readPairs(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(/[,\n]/).map((pair) => pair.split('='));
  return new Map(pairs.map(([event = '', platform = '']) => [folded(event), platform.trim()]));
}

/** The names that a site's setting `event_names` gives, by the event's, folded as it is compared. */
export function chosenNames(settings: object): ReadonlyMap<string, string> {
  const text: unknown = Reflect.get(settings, 'event_names');
  const names = chosenBySettings.get(settings) ?? (typeof text === 'string' ? readPairs(text) : new Map());
  chosenBySettings.set(settings, names);
  return names;
}

/**
 * The platform's name that a site's setting `event_names` gives to an event; null when it gives none. Case and separators
 * do not matter. The pairs are read once per settings value.
 *
 * @param names of the event, the most particular first.
 */
export function mappedEventName(settings: unknown, names: readonly (string | null)[]): string | null {
  if (typeof settings !== 'object' || settings === null) return null;
  const chosen = chosenNames(settings);
  if (chosen.size === 0) return null;
  for (const name of names) {
    const platform = name === null ? undefined : chosen.get(folded(name));
    if (platform !== undefined) return platform;
  }
  return null;
}
