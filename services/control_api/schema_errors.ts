import type { TSchema } from 'typebox';
import { PATTERN_WORDS } from '#pipelines/engage/definition_fields.ts';
import { type Problem, type ProblemCode, problem } from '#pipelines/settings/problem.ts';
import { PROBLEM_KEYWORD } from '#services/control_api/fields.ts';

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

/** What errors of a schema say to people, one for each field. No message holds a value. */
export function problemsOfErrors(schema: TSchema, errors: readonly SchemaError[]): Problem[] {
  const problems = errors.flatMap((error) => problemsOf(schema, error));
  return problems.filter(({ field }, index) => problems.findIndex((other) => other.field === field) === index);
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
