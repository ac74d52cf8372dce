import type { SurveyResults } from '#pipelines/analytics/engage_results.ts';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import type { EngageView } from '#services/control_api/engage.ts';
import type { Meta } from '#services/control_api/fields.ts';
import type { Facts } from '../../editing/differences.ts';
import { type Path, withValue } from './definition_json.ts';

/** What visitors can be shown: how each kind is called, where the API has it, and what a new one begins with. */
export const KINDS: readonly { kind: EngageKind; path: string; title: string; one: string; blank: object }[] = [
  {
    kind: 'survey',
    path: 'surveys',
    title: 'Surveys',
    one: 'survey',
    blank: {
      ...{ id: 'how-was-it', name: 'How was it', enabled: false, title: 'One question' },
      questions: [{ id: 'nps', type: 'rating', scale: 11, text: 'How likely is it that you recommend us?' }],
    },
  },
  {
    kind: 'promo',
    path: 'promos',
    title: 'Promos',
    one: 'promo',
    blank: {
      ...{ id: 'sale', name: 'Sale', enabled: false, place: 'banner', title: '20% off' },
      button: { text: 'See it', url: '/sale' },
    },
  },
  {
    kind: 'form',
    path: 'forms',
    title: 'Forms',
    one: 'form',
    blank: {
      ...{ id: 'quote', name: 'Ask for a quote', enabled: false, title: 'Ask for a quote' },
      fields: [{ name: 'email', type: 'email', label: 'E-mail', required: true, map: 'email' }],
    },
  },
];

export type KindSpec = (typeof KINDS)[number];

/** What was written of an item, without what the service adds. */
export function definitionText(item: EngageView): string {
  const { revision: _revision, version: _version, changed_at: _at, changed_by: _by, ...definition } = item;
  return textOf(definition);
}

/** An object in a text of JSON, or why it is none. */
export function readObject(text: string): { ok: true; value: object } | { ok: false; message: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ok: true, value };
    return { ok: false, message: 'This is no JSON object.' };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : 'This is no JSON.' };
  }
}

export const textOf = (definition: unknown): string => JSON.stringify(definition, null, 2);

/** A text of JSON in which a field has another value; what is no object stays as it is. */
export function textWith(text: string, path: Path, value: unknown): string {
  const read = readObject(text);
  return read.ok ? textOf(withValue(read.value, path, value)) : text;
}

/** What is not stored yet. */
export type NewItem = Meta;
export const NEW_ITEM: NewItem = { version: '', changed_at: 0, changed_by: '' };

/** What a text of JSON says, field by field; nothing where it is no object. */
export function definitionFacts(text: string): Facts {
  const read = readObject(text);
  return read.ok ? { ...read.value } : {};
}

/** Whether it is shown to visitors at a moment. */
export function shownState(
  { enabled, starts_at, ends_at }: EngageView,
  nowMs: number,
): 'on' | 'off' | 'later' | 'over' {
  if (!enabled) return 'off';
  if (starts_at !== null && nowMs < starts_at) return 'later';
  return ends_at !== null && nowMs >= ends_at ? 'over' : 'on';
}

/**
 * What a question of a survey asks, and its choices by id, as the survey has them now; the id itself where it no longer
 * has the question.
 */
export function questionWords(item: EngageView, id: string): { text: string; choices: ReadonlyMap<string, string> } {
  const questions = 'questions' in item ? item.questions : [];
  const question = questions.find((one) => one.id === id);
  const choices = question !== undefined && 'choices' in question ? question.choices : [];
  return { text: question?.text ?? id, choices: new Map(choices.map((choice) => [choice.id, choice.label])) };
}

/**
 * Results of questions as the survey asks them, those that it does not ask any more last; answers on a scale are in the order
 * of the scale.
 */
export function asAsked(results: SurveyResults['questions'], item: EngageView): SurveyResults['questions'] {
  const ids = 'questions' in item ? item.questions.map(({ id }) => id) : [];
  const placeOf = (id: string): number => (ids.includes(id) ? ids.indexOf(id) : ids.length);
  return results
    .map((one) => (one.average === null ? one : { ...one, values: one.values.toSorted(byNumber) }))
    .toSorted((a, b) => placeOf(a.id) - placeOf(b.id));
}

const byNumber = (a: { value: string }, b: { value: string }): number => Number(b.value) - Number(a.value);
