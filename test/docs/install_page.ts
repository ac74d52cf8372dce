import { readdirSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../../docs/install/', import.meta.url);

/** The pages that say how the tag is installed, one for each kind of site. */
export const INSTALL_PAGES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.md') && name !== 'README.md')
  .toSorted();

/** The text of a file of docs/install/. */
export function installFile(name: string): string {
  return readFileSync(new URL(name, FOLDER), 'utf8');
}

/** The blocks of code of a page in one language, in order. */
export function blocks(name: string, language: string): string[] {
  return [...installFile(name).matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(([, written]) => written === language)
    .map(([, , code = '']) => code);
}

/** The content of a page's inline scripts, and the attributes of all its script elements. */
export function scriptsOf(html: string): { attributes: string; code: string }[] {
  return [...html.matchAll(/<script([^>]*)>([\s\S]*?)<\/script>/g)].map(([, attributes = '', code = '']) => ({
    attributes,
    code,
  }));
}
