import { directionOf } from '#pipelines/engage/panel_words.ts';

/** What a browser shows after a plain form where the definition leads nowhere: text only, nothing is loaded or run. */
export const FORM_PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A page of a heading and some lines. */
export function formPage(locale: string, heading: string, lines: readonly string[]): string {
  const items = lines.map((line) => `<p>${escaped(line)}</p>`).join('');
  const title = escaped(heading);
  return `<!doctype html><html lang="${escaped(locale)}" dir="${directionOf(locale)}"><meta name="viewport" content="width=device-width"><title>${title}</title><main><h1>${title}</h1>${items}</main></html>`;
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => ENTITIES[one] ?? '');
