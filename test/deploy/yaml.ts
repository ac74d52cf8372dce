// Values as YAML, for files that people read and change. Text that might be taken for something else is quoted as in JSON.

type Scalar = string | number | boolean | null;
export type Yaml = Scalar | Anchor | Alias | readonly Yaml[] | { readonly [key: string]: Yaml };

/** A value that others of the same file repeat by its name. */
export class Anchor {
  readonly name: string;
  readonly value: Yaml;

  constructor(name: string, value: Yaml) {
    this.name = name;
    this.value = value;
  }
}

/** Stands for the value of an anchor above it. */
export class Alias {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A document, or several with lines of dashes between them, behind a comment. */
export function yamlFile(comment: string, ...documents: readonly Yaml[]): string {
  const head = comment.split('\n').map((line) => `# ${line}`.trimEnd());
  return `${[...head, ...documents.flatMap((document, index) => [...(index === 0 ? [] : ['---']), ...lines(document)])].join('\n')}\n`;
}

function lines(value: Yaml): string[] {
  if (Array.isArray(value)) return value.flatMap((item: Yaml) => nested('-', item));
  return Object.entries(value as object).flatMap(([key, item]: [string, Yaml]) => nested(`${plain(key)}:`, item));
}

/** What stands behind a dash or a key: on the same line, or indented on those below. */
function nested(lead: string, value: Yaml): string[] {
  if (value instanceof Anchor) return nested(`${lead} &${value.name}`, value.value);
  if (hasLines(value)) return [`${lead} |-`, ...value.split('\n').map((line) => `  ${line}`.trimEnd())];
  const inline = inlined(value);
  if (inline !== null) return [`${lead} ${inline}`];
  const [first = '', ...rest] = lines(value).map((line) => `  ${line}`);
  return lead === '-' ? [`- ${first.trimStart()}`, ...rest] : [lead, first, ...rest];
}

/** Whether a text is one of several lines that can be written as they are. */
const hasLines = (value: Yaml): value is string =>
  typeof value === 'string' && value.includes('\n') && value === value.trim() && !/ \n|[\t\r]/.test(value);

const INLINE_MAX = 90;

/** The value on one line; null where it takes several. */
function inlined(value: Yaml): string | null {
  if (value instanceof Alias) return `*${value.name}`;
  if (value === null || typeof value !== 'object') return scalar(value);
  if (!Array.isArray(value)) return Object.keys(value).length === 0 ? '{}' : null;
  if (value.some((item) => item !== null && typeof item === 'object')) return null;
  if (value.some(hasLines)) return null;
  const list = `[${value.map(quoted).join(', ')}]`;
  return list.length > INLINE_MAX ? null : list;
}

const quoted = (value: Scalar): string => (typeof value === 'string' ? inQuotes(value) : String(value));

const scalar = (value: Scalar): string => (typeof value === 'string' ? plain(value) : String(value));

/** No sign that YAML gives a meaning, and no word that it reads as something else, in 1.1 or 1.2. */
const PLAIN = /^[A-Za-z/][\w./-]*(?::[\w./-]+)*$/;
const WORDS = /^(?:true|false|yes|no|on|off|y|n|null|nan|inf)$/i;

function plain(text: string): string {
  return text === '<<' || (PLAIN.test(text) && !WORDS.test(text)) ? text : inQuotes(text);
}

/** Printable ASCII without `'` and `\`, which stands for itself in single quotes. */
const LITERAL = /^[ -&(-[\]-~]*$/;

/** In double quotes as JSON has it, or in single ones where fewer signs are escaped so, as the formatter wants it. */
function inQuotes(text: string): string {
  return text.includes('"') && LITERAL.test(text) ? `'${text}'` : JSON.stringify(text);
}
