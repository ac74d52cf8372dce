// Fields that schemas of the control API share, and what is said of a value that a schema refuses.

import { type TObject, type TProperties, type TSchema, type TSchemaOptions, Type } from 'typebox';
import { PATTERN_WORDS } from '#pipelines/engage/definition_fields.ts';
import { ID_PATTERN, type Problem, type ProblemCode, problem } from '#pipelines/settings/problems.ts';

/** Says by which code a value is refused that the schema does not take. */
const PROBLEM_KEYWORD = 'x-problem';

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

export const countField = (description: string) => Type.Integer({ description, minimum: 0 });

export const nullable = <Schema extends TSchema>(schema: Schema, options: TSchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], options);

/** An object that takes no other fields. */
export const closed = <Properties extends TProperties>(properties: Properties, options: TSchemaOptions = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options });

export const nothing = closed({});

type Optionals<Properties extends Record<string, TSchema>> = {
  [Name in keyof Properties]: ReturnType<typeof Type.Optional<Properties[Name]>>;
};

/** The same fields, each of which may be left out. */
export function allOptional<Properties extends Record<string, TSchema>>(properties: Properties): Optionals<Properties> {
  const entries = Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)]);
  return Object.fromEntries(entries) as Optionals<Properties>;
}

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

/** One page of a list by numbers that grow. */
export const numberedPageOf = <Item extends TObject>(item: Item) =>
  Type.Object({
    items: Type.Array(item),
    next: nullable(Type.Integer(), { description: 'Give it as `before` for the next page; null on the last one' }),
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

/** An error as the validators of TypeBox list it. */
export interface SchemaError {
  keyword: string;
  schemaPath: string;
  instancePath: string;
  params: object;
  message: string;
}

/** More are not read by anybody, and the documentation lists them. */
const LISTED_MAX = 20;
const PROBLEMS_MAX = 20;

/** What errors of a schema say to people, one for each field. No message holds a value. */
export function problemsOfErrors(schema: TSchema, errors: readonly SchemaError[]): Problem[] {
  const meant = errorsMeant(errors);
  const problems = meant.flatMap((error) => problemsOf(schema, error));
  return problems
    .filter(({ field }, index) => problems.findIndex((other) => other.field === field) === index)
    .slice(0, PROBLEMS_MAX);
}

const UNION = '/anyOf/';

/**
 * Errors without those of the branches of unions that were not meant, and without that of the union itself: a validator lists what of
 * every branch does not fit.
 *
 * @param from Up to here the paths in the schema are looked at already.
 */
function errorsMeant(errors: readonly SchemaError[], from = 0): SchemaError[] {
  const groups = Map.groupBy(errors, ({ schemaPath, instancePath }) => {
    const at = schemaPath.indexOf(UNION, from);
    return at < 0 ? '' : `${schemaPath.slice(0, at)} ${instanceOf(schemaPath.slice(0, at), instancePath)}`;
  });
  const told = [...groups].flatMap(([union, some]) => (union === '' ? some : branchMeant(union, some)));
  const others = told.filter(({ keyword }) => keyword !== 'anyOf');
  return others.length > 0 ? others : told;
}

function branchMeant(union: string, errors: readonly SchemaError[]): SchemaError[] {
  const [schemaPath = '', place = ''] = union.split(' ');
  const start = schemaPath.length + UNION.length;
  const branches = Map.groupBy(errors, (error) => error.schemaPath.slice(start).split('/')[0]);
  const [first = [], ...others] = [...branches.values()].map((some) => errorsMeant(some, start));
  return others.reduce((best, other) => (misfit(other, place) < misfit(best, place) ? other : best), first);
}

/** How little a value at a place is of the branch that these errors are of: by its fields, and by what says its kind. */
const misfit = (errors: readonly SchemaError[], place: string): number =>
  errors.reduce((sum, error) => sum + misfitOf(error, place), 0);

const OF_OTHER_TYPE = 1_000;

/** What lies deeper than the fields of its fields says nothing of which branch was meant. */
function misfitOf({ keyword, params, instancePath }: SchemaError, place: string): number {
  const depth = instancePath.slice(place.length).split('/').length - 1;
  if (depth > 1 || keyword === 'boolean') return 0;
  if ('requiredProperties' in params) return namesIn(params.requiredProperties).length;
  if ('additionalProperties' in params) return namesIn(params.additionalProperties).length;
  return depth === 0 ? OF_OTHER_TYPE : 1;
}

/** The part of a path in a value that a path in its schema has come to. */
function instanceOf(schemaPath: string, instancePath: string): string {
  const parts = schemaPath.split('/').slice(1);
  let depth = 0;
  for (let at = 0; at < parts.length; at += 1) {
    if (parts[at] === 'properties' || parts[at] === 'patternProperties') [depth, at] = [depth + 1, at + 1];
    else if (parts[at] === 'anyOf' || parts[at] === 'allOf') at += 1;
    else if (parts[at] === 'items' || parts[at] === 'additionalProperties') depth += 1;
  }
  return instancePath
    .split('/')
    .slice(0, depth + 1)
    .join('/');
}

function problemsOf(schema: TSchema, error: SchemaError): Problem[] {
  const { params } = error;
  if (error.keyword === 'required' && 'requiredProperties' in params) {
    return namesIn(params.requiredProperties).map((name) =>
      problem('field_missing', fieldName(`${error.instancePath}/${name}`), 'is missing'),
    );
  }
  if (error.keyword === 'additionalProperties' && 'additionalProperties' in params) {
    return namesIn(params.additionalProperties).map((name) =>
      problem('field_unknown', fieldName(`${error.instancePath}/${name}`), 'is not a field'),
    );
  }
  // Each unknown field is also reported by itself, as one for which the schema is false.
  if (error.keyword === 'boolean') return [];
  return [problem(codeAt(schema, error.schemaPath), fieldName(error.instancePath), messageOf(error))];
}

function messageOf({ keyword, params, message }: SchemaError): string {
  if (keyword === 'pattern' && 'pattern' in params) return PATTERN_WORDS.get(String(params.pattern)) ?? 'is malformed';
  const allowed = keyword === 'enum' && 'allowedValues' in params ? namesIn(params.allowedValues) : [];
  if (allowed.length === 0 || allowed.length > LISTED_MAX) return message;
  const orEmpty = allowed.includes('') ? 'empty or ' : '';
  return `must be ${orEmpty}one of: ${allowed.filter((name) => name !== '').join(', ')}`;
}

function namesIn(names: unknown): string[] {
  return Array.isArray(names) ? names.map(String) : [];
}

/** `/block_rules/0/value` is read as block_rules[0].value by people. */
function fieldName(instancePath: string): string {
  const parts = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return parts.reduce((name, part) => (/^\d+$/.test(part) ? `${name}[${part}]` : `${name}${name && '.'}${part}`), '');
}

/** The code of the innermost schema on the path that names one. */
function codeAt(schema: TSchema, schemaPath: string): ProblemCode {
  let code: ProblemCode = 'field_malformed';
  let at: unknown = schema;
  for (const part of schemaPath.split('/')) {
    if (part !== '#') at = child(at, part.replaceAll('~1', '/').replaceAll('~0', '~'));
    code = (child(at, PROBLEM_KEYWORD) as ProblemCode | undefined) ?? code;
  }
  return code;
}

function child(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
