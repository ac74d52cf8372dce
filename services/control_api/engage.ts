// Schemas of surveys, promos and forms.

import { type TSchema, Type } from 'typebox';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import { DEFINITION_SCHEMAS, type Definition } from '#pipelines/engage/definition_problems.ts';
import { closed, type Meta, metaFields } from './fields.ts';

/** How the collections of each kind are called in paths. */
export const ENGAGE_PATHS = { survey: 'surveys', promo: 'promos', form: 'forms' } as const satisfies Record<
  EngageKind,
  string
>;

/** A definition as it is written: what has a default may be left out, at every depth. */
export const engageInputs = {
  survey: withoutDefaults(DEFINITION_SCHEMAS.survey),
  promo: withoutDefaults(DEFINITION_SCHEMAS.promo),
  form: withoutDefaults(DEFINITION_SCHEMAS.form),
} as const;

const revision = Type.Integer({
  minimum: 1,
  description: 'Counts what it said so far; stands in its events as its version',
});

export const engageShapes = {
  survey: Type.Object({ ...DEFINITION_SCHEMAS.survey.properties, revision, ...metaFields }),
  promo: Type.Object({ ...DEFINITION_SCHEMAS.promo.properties, revision, ...metaFields }),
  form: Type.Object({ ...DEFINITION_SCHEMAS.form.properties, revision, ...metaFields }),
} as const;
export type EngageView = Definition & Meta & { revision: number };

function withoutDefaults(schema: TSchema): TSchema {
  if (Type.IsArray(schema)) return { ...schema, items: withoutDefaults(schema.items) };
  if (!Type.IsObject(schema)) return schema;
  const properties = Object.entries(schema.properties).map(([name, property]) => {
    const inner = withoutDefaults(property);
    return [name, 'default' in property ? Type.Optional(inner) : inner];
  });
  const { default: usual, description } = schema as { default?: unknown; description?: string };
  return closed(Object.fromEntries(properties), {
    ...(usual === undefined ? {} : { default: usual }),
    ...(description === undefined ? {} : { description }),
  });
}
