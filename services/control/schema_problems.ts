import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { Problem } from '#pipelines/settings/problem.ts';
import { problemsOfErrors, type SchemaError } from '#services/control_api/schema_errors.ts';

const validators = new WeakMap<TSchema, Validator>();

/** What of a value a schema does not take; no problem: it takes it. No message holds a value. */
export function schemaProblems(schema: TSchema, value: unknown): Problem[] {
  const validator = validators.get(schema) ?? Compile(schema);
  validators.set(schema, validator);
  if (validator.Check(value)) return [];
  return problemsOfErrors(schema, validator.Errors(value) as SchemaError[]);
}

/** Query texts as the schema means them: a whole number where it asks for one. */
export function readQuery(schema: TSchema, query: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const isNumber = child(child(child(schema, 'properties'), name), 'type') === 'integer';
      return [name, isNumber && typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value];
    }),
  );
}

function child(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
