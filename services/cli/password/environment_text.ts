// Variables in the text of a file of them, as systemd, containers and shells read it: only where all of these read the same.

import { UsageError } from '../command.ts';

export interface EnvFile {
  /** Where its text is, which links may lead to. */
  path: string;
  /** What it is called in the folder: more than once where several links lead to it. */
  names: readonly string[];
  text: string;
}

/** The line that gives a variable its value: `before`, the value and `after` are all of it. */
interface Assignment {
  line: number;
  before: string;
  value: string;
  after: string;
}

/** The value of a variable; empty where it has none. @throws UsageError where readers would read different ones */
export const valueIn = (file: EnvFile, name: string): string => assignmentIn(file, name)?.value ?? '';

/** The text with another value of a variable that it has, which needs no quoting. @throws UsageError as valueIn */
export function withValue(file: EnvFile, name: string, value: string): string {
  const found = assignmentIn(file, name);
  if (found === null) return file.text;
  return file.text.split('\n').with(found.line, `${found.before}${value}${found.after}`).join('\n');
}

/** The text with a value of a variable, which gets a line below that of another, as that is written, where it has none. */
export function withValueBelow(file: EnvFile, above: string, name: string, value: string): string {
  const found = assignmentIn(file, above);
  if (found === null || assignmentIn(file, name) !== null) return withValue(file, name, value);
  const line = `${found.before.replace(above, name)}${value}${found.after}`;
  return file.text
    .split('\n')
    .toSpliced(found.line + 1, 0, line)
    .join('\n');
}

/** What is in quotes is not expanded by anybody, and without quotes nothing stands that ends it or begins a comment. */
const readable = (name: string): RegExp =>
  new RegExp(`^((?:export )?${name}=)(?:(")([^"\\\\$\`]*)"|(')([^'\\\\]*)'|([^\\s"'\\\\$\`#]*))([ \\t\\r]*)$`);

function assignmentIn({ path, text }: EnvFile, name: string): Assignment | null {
  const all = assignmentsOf(text, name);
  const [first, ...others] = all;
  if (first === undefined) return null;
  const [, start = '', double, inDouble, single, inSingle, bare, end = ''] = readable(name).exec(first.text) ?? [];
  if (others.length > 0 || first.isWithin || start === '') {
    const why = others.length > 0 ? `stands ${all.length} times` : 'can be read in several ways';
    throw new UsageError('variable_unreadable', `${path}: ${name} ${why}: write it once, as ${name}=VALUE on a line`);
  }
  const quote = double ?? single ?? '';
  const value = inDouble ?? inSingle ?? bare ?? '';
  return { line: first.line, before: start + quote, value, after: quote + end };
}

/** Every line that may be taken for one that sets the variable, comments apart. */
function assignmentsOf(text: string, name: string): { line: number; text: string; isWithin: boolean }[] {
  const sets = new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=`);
  const found: { line: number; text: string; isWithin: boolean }[] = [];
  let quote = '';
  let isContinued = false;
  for (const [line, one] of text.split('\n').entries()) {
    // The value of another variable may go over several lines.
    if (sets.test(one)) found.push({ line, text: one, isWithin: quote !== '' || isContinued });
    if (quote === '') {
      const [, opening = '', rest = ''] = /^\s*(?:export\s+)?\w+\s*=\s*(["'])(.*)$/.exec(one) ?? [];
      if (!rest.includes(opening)) quote = opening;
    } else if (one.includes(quote)) quote = '';
    isContinued = !/^\s*[#;]/.test(one) && /\\\r?$/.test(one);
  }
  return found;
}
