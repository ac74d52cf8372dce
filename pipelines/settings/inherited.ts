import { isDeepStrictEqual } from 'node:util';
import type { Problem, ProblemCode } from './problem.ts';

/** Rules that are younger than records which break them. */
const LATER_RULES: ReadonlySet<ProblemCode> = new Set([
  'personal_text',
  'domain_unclaimable',
  'origin_malformed',
  'event_definition_malformed',
]);

/**
 * The problems of a changed record that the change brings. What was stored before a rule was made may stay as it is, or
 * nothing else of the record could be changed any more, such as the mode of a site whose name holds a number.
 *
 * @param before The record as it is stored; null for a new one, which has to keep every rule.
 */
export function newProblems<Item extends object>(
  problems: readonly Problem[],
  before: Item | null,
  after: Item,
): Problem[] {
  if (before === null) return [...problems];
  return problems.filter(({ code, field }) => !(LATER_RULES.has(code) && isInherited(field, before, after)));
}

/** `label`, or an entry of a list such as `block_rules[3]`, which may have stood elsewhere in it. */
function isInherited(field: string, before: object, after: object): boolean {
  const [, name = '', index] = /^([^[]+)(?:\[(\d+)\])?$/.exec(field) ?? [];
  const [old, now] = [before, after].map((record) => (record as Readonly<Record<string, unknown>>)[name]);
  if (index === undefined) return old !== undefined && isDeepStrictEqual(old, now);
  const entry = Array.isArray(now) ? now[Number(index)] : undefined;
  return Array.isArray(old) && old.some((one) => isDeepStrictEqual(one, entry));
}
