import { type TObject, type TProperties, type TSchema, type TSchemaOptions, Type } from 'typebox';
import { ID_PATTERN } from '#pipelines/settings/id_pattern.ts';
import type { ProblemCode } from '#pipelines/settings/problem.ts';

/** Says by which code a value is refused that the schema does not take. */
export const PROBLEM_KEYWORD = 'x-problem';

/** Options of a schema whose refusal has a code of its own. */
export const refusedAs = (code: ProblemCode) => ({ [PROBLEM_KEYWORD]: code });

export const idField = (description: string) =>
  Type.String({ description, pattern: ID_PATTERN.source, ...refusedAs('id_malformed') });

export const hashField = (description: string) =>
  Type.String({ description, pattern: '^[0-9a-f]{64}$', ...refusedAs('hash_malformed') });

export const nameField = (description: string) =>
  Type.String({ description, minLength: 1, maxLength: 100, ...refusedAs('name_malformed') });

export const labelField = (description: string) =>
  Type.String({ description, minLength: 0, maxLength: 100, ...refusedAs('name_malformed') });

/** A moment in milliseconds since 1970 UTC. */
export const timeField = (description: string) =>
  Type.Integer({
    description: `${description}, in milliseconds since 1970 UTC`,
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    ...refusedAs('expiry_malformed'),
  });

export const nullable = <Schema extends TSchema>(schema: Schema, options: TSchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], options);

/** An object that takes no other fields. */
export const closed = <Properties extends TProperties>(properties: Properties, options: TSchemaOptions = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options });

export const nothing = closed({});

/** What is known of a fact beside its body. */
export interface Meta {
  version: string;
  changed_at: number;
  changed_by: string;
}

/** What every resource carries beside its own fields. */
export const metaFields = {
  version: Type.String({ description: 'Changes with every change; the ETag without its quotes' }),
  changed_at: timeField('When it was last changed'),
  changed_by: Type.String({ description: 'Label of the admin token that changed it' }),
};

export const PAGE_ITEMS = 100;
const PAGE_ITEMS_MAX = 1000;

export const limitField = Type.Optional(
  Type.Integer({ description: 'Items of one page', minimum: 1, maximum: PAGE_ITEMS_MAX, default: PAGE_ITEMS }),
);

/** Query of a list: where the page begins and how long it may be. */
export const pageFields = {
  limit: limitField,
  after: Type.Optional(Type.String({ description: 'The `next` of the page before', maxLength: 300 })),
};

export const pageOf = <Item extends TObject>(item: Item) =>
  Type.Object({
    items: Type.Array(item),
    next: nullable(Type.String(), { description: 'Give it as `after` for the next page; null on the last one' }),
  });

export const errorShape = Type.Object({
  error: Type.Object({
    code: Type.String({ description: 'Stable: programs decide by it' }),
    message: Type.String({ description: 'For people; it may change' }),
  }),
  problems: Type.Optional(
    Type.Array(
      Type.Object({
        code: Type.String({ description: 'Stable' }),
        field: Type.String({ description: 'The field it is about' }),
        message: Type.String(),
      }),
    ),
  ),
});
