import type { EngageKind } from './definition_fields.ts';
import type { Definition } from './definition_problems.ts';
import { type Form, MARKETING_FIELD } from './form.ts';
import { directionOf, panelWords } from './panel_words.ts';
import type { Promo } from './promo.ts';
import { translated } from './shown_texts.ts';
import type { Question, Survey } from './survey.ts';

/** What of a definition is for the server alone. */
const SERVERS: ReadonlySet<string> = new Set([
  'id',
  'name',
  'enabled',
  'priority',
  'starts_at',
  'ends_at',
  'share_percent',
  'consent_needed',
  'locale',
  'targeting',
  'frequency',
  'show',
  'place',
  'mount',
  'theme',
  'translations',
  'spam',
  'conversion_event',
  'value',
  'currency',
  'redirect_invalid',
  'marketing_text',
]);

/**
 * What a visitor's browser is told of a definition, as JSON without the closing brace, so that the token can follow. It
 * says nothing of who is meant, of what becomes of a form's fields, or of other languages.
 */
export function contentOf(kind: EngageKind, version: number, definition: Definition, locale: string): string {
  const { translations, id, show, place, mount, theme } = definition;
  const texts = Object.hasOwn(translations, locale) ? (translations[locale] ?? {}) : {};
  const shown = translated(definition, texts);
  const content = Object.fromEntries(Object.entries(shown).filter(([field]) => !SERVERS.has(field)));
  const more = moreOf(kind, shown);
  const panel = { dir: directionOf(locale), label: labelOf(kind, shown), words: panelWords(locale) };
  const answer = { kind, id, version, locale, show, place, mount, theme, ...panel, content: { ...content, ...more } };
  return JSON.stringify(answer).slice(0, -1);
}

/** What a panel is called by those who do not see it. */
function labelOf(kind: EngageKind, shown: Definition): string {
  if (shown.title !== '') return shown.title;
  if (kind === 'survey') return (shown as Survey).questions[0]?.text ?? '';
  const { body } = shown as Promo | Form;
  if (body !== '') return body;
  if (kind === 'promo') return (shown as Promo).image_alt;
  const { button, fields } = shown as Form;
  return button || (fields[0]?.label ?? '');
}

/** What stands in a browser's content in the place of the definition's own. */
function moreOf(kind: EngageKind, shown: Definition): object {
  if (kind === 'form') return formContent(shown as Form);
  return kind === 'survey' ? { questions: (shown as Survey).questions.map(questionContent) } : {};
}

/**
 * A form that a script shows has no hidden fields, as nothing of the page fills them in. What has to be filled in is marked,
 * and what marketing is agreed to by is a box more.
 */
function formContent({ fields, spam, consent_text, consent_required, marketing_text }: Form): object {
  const marked = (text: string, required: boolean): string => (required && text !== '' ? `${text} *` : text);
  const shownFields = fields
    .filter(({ type }) => type !== 'hidden')
    .map(({ map: _map, store: _store, ...field }) => ({ ...field, label: marked(field.label, field.required) }));
  const box = {
    ...{ name: MARKETING_FIELD, type: 'checkbox', label: marketing_text, placeholder: '', required: false },
    ...{ max_length: 1, options: [] },
  };
  return {
    fields: [...shownFields, ...(marketing_text === '' ? [] : [box])],
    consent_text: marked(consent_text, consent_required),
    honeypot: spam.honeypot,
    min_ms: spam.min_ms,
  };
}

/** With what comes next stated, and whether the survey ends here whatever is answered, so that the button can say so. */
function questionContent(question: Question, at: number, all: readonly Question[]): object {
  const next = question.next || (all[at + 1]?.id ?? 'end');
  const last = [next, ...question.branches.map(({ go_to }) => go_to)].every((target) => target === 'end');
  return { ...question, next, last };
}
