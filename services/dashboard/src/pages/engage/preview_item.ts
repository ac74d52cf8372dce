import { contentOf } from '#pipelines/engage/content.ts';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import type { Definition } from '#pipelines/engage/definition_problems.ts';
import type { ShownItem } from '#services/engage_panels/shown_item.ts';

/** Where links lead in a preview: nowhere, whatever was typed. */
const NOWHERE = '#';
/** A colour or a length, as far as it is typed, and no address of a picture. */
const THEME_VALUE = /^[#\w.%]+$/;

/** What the tag would be told of a definition, in one of its languages. */
export function previewItem(kind: EngageKind, definition: Definition, locale: string): ShownItem {
  const told = JSON.parse(`${contentOf(kind, 1, definition, locale)}}`) as Omit<ShownItem, 'token'>;
  const theme = Object.fromEntries(Object.entries(told.theme).filter(([, value]) => THEME_VALUE.test(value)));
  return withoutLinks({ ...told, theme, token: '' } as ShownItem);
}

function withoutLinks(item: ShownItem): ShownItem {
  if (item.kind === 'survey') {
    const questions = item.content.questions.map((question) => ({
      ...question,
      button: question.button || (question.type === 'link' ? question.url : ''),
      url: NOWHERE,
    }));
    return { ...item, content: { ...item.content, questions } };
  }
  if (item.kind === 'form') return item;
  const { button } = item.content;
  return { ...item, content: { ...item.content, button: { ...button, url: button.url && NOWHERE } } };
}

/** The languages that a definition has texts in, its own first. */
export const languagesOf = ({ locale, translations }: Definition): string[] => [
  ...new Set([locale, ...Object.keys(translations)]),
];
