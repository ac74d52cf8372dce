import type { EngageKind } from './definition_fields.ts';
import type { Definition } from './engage_definition.ts';
import type { Form } from './form.ts';
import { translated } from './shown_texts.ts';

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
  const more = kind === 'form' ? formContent(shown as Form) : {};
  const answer = { kind, id, version, locale, show, place, mount, theme, content: { ...content, ...more } };
  return JSON.stringify(answer).slice(0, -1);
}

function formContent({ fields, spam }: Form): object {
  const shownFields = fields.map(({ map: _map, store: _store, ...field }) => field);
  return { fields: shownFields, honeypot: spam.honeypot };
}
