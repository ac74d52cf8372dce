/** `name = value`, one on a line, as forms show members of an object. */

/** What names may be made of without quotes; a selector that stands where a name belongs is none. */
const PLAIN_NAME = /^[\p{L}\p{N}_$./-]+(?: +[\p{L}\p{N}_$./-]+)*$/u;
const QUOTED_NAME = /^("(?:[^"\\]|\\.)*")\s*=/;

/** What a line says, or what is wrong with it. */
type Line = { ok: true; name: string; value: string } | { ok: false; problem: string };

/** Writes values so that reading them comes to the same: a text that reads as something else is put in quotes. */
export const writtenLines = (values: Readonly<Record<string, unknown>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${PLAIN_NAME.test(name) ? name : JSON.stringify(name)} = ${written(value)}`)
    .join('\n');

function written(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  const isPlain = value === value.trim() && !/[\n\r]/.test(value) && readValue(value) === value;
  return isPlain ? value : JSON.stringify(value);
}

/** JSON is what it says, anything else is a text; so is a number that has more digits than would be kept. */
export function readValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER ? text : value;
  } catch {
    return text;
  }
}

/** As a value that can only be a text, such as a selector: it is one without quotes as well. */
export function readText(text: string): string {
  const value = readValue(text);
  return typeof value === 'string' ? value : text;
}

function readLine(line: string): Line {
  const quoted = QUOTED_NAME.exec(line);
  const at = quoted === null ? line.indexOf('=') : quoted[0].length - 1;
  const name = quoted === null ? line.slice(0, at).trim() : readValue(quoted[1] ?? '');
  const isName = typeof name === 'string' && (quoted === null ? at > 0 && PLAIN_NAME.test(name) : true);
  if (isName) return { ok: true, name, value: line.slice(at + 1).trim() };
  return { ok: false, problem: 'is not “name = value”; a name with other characters stands in quotes' };
}

const linesOf = (text: string): string[] => text.split('\n').map((line) => line.trim());

/** The members that lines say; those that cannot be read are left out, and `lineProblems` names them. */
export function readLines<Value>(text: string, read: (value: string) => Value): Record<string, Value> {
  const lines = linesOf(text).map(readLine);
  return Object.fromEntries(lines.flatMap((line) => (line.ok ? [[line.name, read(line.value)] as const] : [])));
}

/** What is wrong with the lines, a sentence each. */
export function lineProblems(text: string): string[] {
  const names = new Set<string>();
  return linesOf(text).flatMap((written, at) => {
    if (written === '') return [];
    const line = readLine(written);
    if (!line.ok) return [`Line ${at + 1} ${line.problem}.`];
    if (names.has(line.name)) return [`Line ${at + 1} has a name that stands above already.`];
    names.add(line.name);
    return [];
  });
}

const isOf = (written: string, name: string): boolean => {
  const line = readLine(written);
  return line.ok && line.name === name;
};

/** A value in the lines of a form, as it is written there. */
export function lineValue(lines: string, name: string): string {
  const line = readLine(linesOf(lines).find((one) => isOf(one, name)) ?? '');
  return line.ok ? line.value : '';
}

/** The lines with one value changed, or without it where that is empty. Other lines stay as they are typed. */
export function withLine(lines: string, name: string, value: string): string {
  const others = lines.split('\n').filter((line) => line.trim() !== '' && !isOf(line.trim(), name));
  return (value.trim() === '' ? others : [...others, `${name} = ${value.trim()}`]).join('\n');
}
