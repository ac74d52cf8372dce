/** A file as it is to be written, its path from the project's folder. */
export interface ScaffoldFile {
  path: string;
  text: string;
}

/** Each template with where it goes; `__name__` stands for the destination's name. */
export const TEMPLATES = [
  ['settings.ts.txt', 'pipelines/delivery/destinations/__name__/settings.ts'],
  ['map.ts.txt', 'pipelines/delivery/destinations/__name__/map.ts'],
  ['classify.ts.txt', 'pipelines/delivery/destinations/__name__/classify.ts'],
  ['adapter.ts.txt', 'pipelines/delivery/destinations/__name__/adapter.ts'],
  ['subject.ts.txt', 'test/contract/delivery/destinations/__name__.ts'],
  ['cases.ts.txt', 'test/contract/delivery/destinations/__name___cases.ts'],
  ['answers.ts.txt', 'test/contract/delivery/destinations/__name___answers.ts'],
] as const;

export const REGISTRY = 'pipelines/delivery/registry.ts';
export const PAGE = 'docs/destinations.md';

/** Lower-case letters, digits and underscores, as part of topic names; a letter first and last. */
export const NAME = /^[a-z](?:[a-z0-9_]{0,30}[a-z0-9])?$/;

const upperFirst = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

function wordsOf(name: string): Record<string, string> {
  const parts = name.split('_').filter((part) => part !== '');
  const pascal = parts.map(upperFirst).join('');
  return {
    name,
    host: parts.join('-'),
    camel: pascal.charAt(0).toLowerCase() + pascal.slice(1),
    Title: parts.map(upperFirst).join(' '),
  };
}

/** A template's text, or a path, for a destination. */
export function filled(text: string, name: string): string {
  const words = wordsOf(name);
  return text.replace(/__(name|host|camel|Title)__/g, (_, word: string) => words[word] ?? '');
}

const pathOf = (line: string): string => /'(.*)'/.exec(line)?.[1] ?? '';

/** The registry with one destination more; null where its form is not known any more. */
export function withRegistered(registry: string, name: string): string | null {
  const lines = registry.split('\n');
  const isImport = (line: string): boolean => line.includes("from './destinations/");
  const added = filled("import { __camel__ } from './destinations/__name__/adapter.ts';", name);
  const last = lines.findLastIndex(isImport);
  const next = lines.findIndex((line) => isImport(line) && pathOf(line) > pathOf(added));
  if (last < 0) return null;
  lines.splice(next < 0 ? last + 1 : next, 0, added);
  const list = lines.indexOf('export const DESTINATIONS: readonly Adapter[] = [');
  const end = lines.indexOf('];', list);
  if (list < 0 || end < 0) return null;
  lines.splice(end, 0, filled('  __camel__,', name));
  return lines.join('\n');
}

const ROW =
  '| `__name__` | __Title__ | 500 | 7 days | once | skipped | `account_id`, `event_names`, `base_url` | `access_token` |';

/** The page with a row for the destination after the others; null where it has no table. */
export function withRow(page: string, name: string): string | null {
  const lines = page.split('\n');
  const last = lines.findLastIndex((line) => line.startsWith('| `'));
  if (last < 0) return null;
  lines.splice(last + 1, 0, filled(ROW, name));
  return lines.join('\n');
}
