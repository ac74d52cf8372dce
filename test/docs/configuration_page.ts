import { settingGroups } from '#infra/config/catalogue.ts';
import type { Variable, VariableFacts } from '#infra/config/environment.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';

const TABLE = /(<!-- variables: ([a-z-]+) -->\n)[\s\S]*?(<!-- end -->)/g;
const HEAD = ['variable', 'value (default)', 'meaning'];

/**
 * The page with its tables made anew from the schemas; what stands between them is left as it is.
 *
 * @throws Error where the page has no place for a group of variables, two places, or a place for a group that is not.
 */
export function withTables(page: string): string {
  const groups = settingGroups(DESTINATIONS.map(({ name }) => name));
  const places = [...page.matchAll(TABLE)].map(([, , name = '']) => name);
  if (places.toSorted().join() !== Object.keys(groups).toSorted().join()) {
    throw new Error(`the page has places for ${places.join()}, and there are ${Object.keys(groups).join()}`);
  }
  return page.replace(
    TABLE,
    (_, begin: string, name: string, end: string) => `${begin}\n${table((groups[name] ?? []).map(row))}\n\n${end}`,
  );
}

/** Columns as wide as their widest cell, as the formatter has them. */
function table(rows: readonly string[][]): string {
  const widths = HEAD.map((head, column) => Math.max(head.length, ...rows.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [HEAD, widths.map((width) => '-'.repeat(width)), ...rows].map(line).join('\n');
}

function row({ facts, nullable }: Variable): string[] {
  const { variable, allowed, description } = facts;
  return [`\`${variable}\``, `${shortened(allowed)}${defaultOf(facts, nullable)}`, description];
}

/** What a value may be, without the words that only complete a sentence of a fault. */
function shortened(allowed: string): string {
  return allowed
    .replace(/^a whole number from (\d+)$/, '$1 or more')
    .replace(/^a whole number from /, '')
    .replace(/^(?:an?|the) (?!whole)/, '')
    .replace('http or https URL', 'URL')
    .replace('true or false', 'flag')
    .replace(/,( several)?( with different ids)? separated by commas/, ', ...');
}

/** In parentheses, as `, required (`npm start`: ...)`; nothing where a variable may be left out and has no default. */
function defaultOf(facts: VariableFacts, nullable: boolean): string {
  const isRequired = facts.default === undefined && facts.defaultText === undefined && !nullable;
  const start = facts.startDefault === undefined ? [] : [`\`npm start\`: ${facts.startDefault}`];
  const values = [...shown(facts), ...start];
  return `${isRequired ? ', required' : ''}${values.length === 0 ? '' : ` (${values.join('; ')})`}`;
}

function shown({ default: value, defaultText }: VariableFacts): string[] {
  if (defaultText !== undefined) return defaultText === 'none' ? [] : [defaultText];
  const text = value?.toString() ?? '';
  return text === '' ? [] : [`\`${text}\``];
}
