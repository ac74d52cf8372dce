import { Compile, type Validator } from 'typebox/compile';
import { Value } from 'typebox/value';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import { type Problem, problem, unless } from '#pipelines/settings/problem.ts';
import { type EngageKind, PATTERN_WORDS } from './definition_fields.ts';
import {
  DEFINITION_SCHEMAS,
  type Definition,
  type Definitions,
  newProblems,
  ownProblems,
} from './definition_problems.ts';

/** Of one kind in one site. */
export const DEFINITIONS_MAX = 50;
/** Names of events that the audiences of one site may ask for: each is counted for each of its visitors. */
export const AUDIENCE_EVENTS_MAX = 50;
/** Keeps a record well below what a Kafka broker takes by default. */
const CHARACTERS_MAX = 128 * 1024;

export type DefinitionResult<Kind extends EngageKind = EngageKind> =
  | { ok: true; definition: Definitions[Kind] }
  | { ok: false; problems: Problem[] };

const validators: Record<EngageKind, Validator> = {
  survey: Compile(DEFINITION_SCHEMAS.survey),
  promo: Compile(DEFINITION_SCHEMAS.promo),
  form: Compile(DEFINITION_SCHEMAS.form),
};

/**
 * Fills in what was left out, and checks it. The input is left as it was. No message holds a value.
 *
 * @param isStored It was written before, by rules that may have been fewer: a selector that no browser takes shows it
 *   nowhere, a branch that never holds is never taken, and neither spoils anything else of it.
 */
export function readDefinition<Kind extends EngageKind>(
  kind: Kind,
  input: unknown,
  isStored = false,
): DefinitionResult<Kind> {
  const filled: unknown = Value.Default(DEFINITION_SCHEMAS[kind], structuredClone(input));
  const validator = validators[kind];
  if (!validator.Check(filled)) return { ok: false, problems: schemaProblem(validator, filled) };
  const definition = filled as Definitions[Kind];
  const ofNew = isStored ? [] : newProblems(kind, definition);
  const problems = [...storedProblems(definition), ...ofNew, ...ownProblems(kind, definition)];
  return problems.length === 0 ? { ok: true, definition } : { ok: false, problems };
}

/** Reads a definition as it is stored; null where it cannot be read. */
export function parseDefinition<Kind extends EngageKind>(kind: Kind, text: string): Definitions[Kind] | null {
  try {
    const read = readDefinition(kind, JSON.parse(text), true);
    return read.ok ? read.definition : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function schemaProblem(validator: Validator, value: unknown): Problem[] {
  const [error] = validator.Errors(value);
  const field = error?.instancePath.slice(1).replaceAll('/', '.') ?? '';
  const pattern = error?.keyword === 'pattern' ? String(error.params.pattern) : undefined;
  const message = pattern === undefined ? error?.message : PATTERN_WORDS.get(pattern);
  return [problem('engage_definition_malformed', field, message ?? 'is malformed')];
}

function storedProblems(definition: Definition): Problem[] {
  return [
    ...eventTexts(definition).flatMap(({ field, text }) =>
      unless(!holdsPersonalText(text), 'personal_text', field, 'holds an e-mail address or a phone number'),
    ),
    ...unless(
      JSON.stringify(definition).length <= CHARACTERS_MAX,
      'too_large',
      '',
      `has more than ${CHARACTERS_MAX} characters of JSON`,
    ),
  ];
}

/** What stands in events and logs, where nothing may say who somebody is. */
function eventTexts(definition: Definition): { field: string; text: string }[] {
  const names = ['name', 'creative', 'slot', 'code', 'conversion_event', 'consent_version'] as const;
  return names.flatMap((field) => {
    const text: unknown = Reflect.get(definition, field);
    return typeof text === 'string' ? [{ field, text }] : [];
  });
}
