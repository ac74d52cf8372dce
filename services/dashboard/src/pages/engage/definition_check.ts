import { Default, Errors } from 'typebox/value';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import {
  DEFINITION_SCHEMAS,
  type Definition,
  newProblems,
  ownProblems,
} from '#pipelines/engage/definition_problems.ts';
import type { Problem } from '#pipelines/settings/problems.ts';
import { problemsOfErrors, type SchemaError } from '#services/control_api/fields.ts';
import { sentDefinition } from './definition_json.ts';

/** A definition as it was typed, with what is wrong with it. */
interface Checked {
  /** As it was typed, with every default filled in. */
  filled: object;
  problems: readonly Problem[];
  /** What can be drawn: it may lack texts or hold wrong ones, but all else is what it should be. */
  drawable: Definition | null;
}

/** What is wrong with a value that can be drawn nevertheless; a number out of its range the browser itself may refuse. */
const OF_TYPE: ReadonlySet<string> = new Set([
  ...['pattern', 'minLength', 'maxLength', 'minItems', 'maxItems', 'maxProperties'],
  // Each unknown field is reported as one for which the schema is false as well.
  ...['additionalProperties', 'boolean'],
]);

/** Checks a definition by the API's own shapes and rules; what the service alone can tell it says when it is sent. */
export function checkDefinition(kind: EngageKind, typed: object): Checked {
  const shape = DEFINITION_SCHEMAS[kind];
  const filled = Default(shape, structuredClone(typed)) as object;
  const sent = sentDefinition(filled);
  const errors = [...Errors(shape, sent)] as SchemaError[];
  const drawable = errors.every(({ keyword }) => OF_TYPE.has(keyword)) ? (sent as Definition) : null;
  if (drawable === null || errors.length > 0) return { filled, drawable, problems: problemsOfErrors(shape, errors) };
  return { filled, drawable, problems: [...ownProblems(kind, drawable), ...newProblems(kind, drawable)] };
}
