import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An e-mail address or phone number in a text. */
export interface TextCanary {
  kind: string;
  text: string;
  /** What must not come back: the identifier as it is written, and plain. */
  raw: string[];
  /** The country that the event names; that of the site without. */
  country?: string;
}

/** The same in properties, where the key or what stands beside it says what it is. */
export interface RecordCanary {
  kind: string;
  properties: Record<string, unknown>;
  raw: string[];
  country?: string;
}

/** What looks like an identifier, is none, and must stay as it is. */
export interface LookAlike {
  kind: string;
  text: string;
  country?: string;
}

/** What is an identifier and is not caught, and why. */
export interface NotCaught {
  kind: string;
  text: string;
  /** What comes back, where a part of it goes; the text itself without. */
  left?: string;
  why: string;
}

/**
 * The rows of a table, without its first line. A cell is the inside of a JSON string in which quotes stand as they are: tabs,
 * line breaks, backslashes and what nobody sees are escaped.
 */
function rowsOf(name: string): string[][] {
  const [, ...lines] = readFileSync(join(import.meta.dirname, `${name}.tsv`), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.map((line) => line.split('\t'));
}

const textOf = (cell = ''): string => JSON.parse(`"${cell.replaceAll('"', '\\"')}"`) as string;
const countryOf = (cell = ''): { country?: string } => (cell === '' ? {} : { country: cell });

/** Where no raw text is named, the whole text must not come back. */
export const TEXT_CANARIES = rowsOf('texts').map(
  ([kind, country, text, ...raw]): TextCanary => ({
    kind: textOf(kind),
    text: textOf(text),
    raw: (raw.length === 0 ? [text] : raw).map(textOf),
    ...countryOf(country),
  }),
);
const recordsOf = (name: string): RecordCanary[] =>
  rowsOf(name).map(
    ([kind, country, properties = '', ...raw]): RecordCanary => ({
      kind: textOf(kind),
      properties: JSON.parse(properties) as Record<string, unknown>,
      raw: raw.map(textOf),
      ...countryOf(country),
    }),
  );
export const RECORD_CANARIES = recordsOf('records');
/**
 * Composed apart from what the scan knows, of the field's own: the example numbers of numbering plans, the schemas of shops and
 * libraries. Here the country is that of the site.
 */
export const FIELD_IDENTIFIERS = recordsOf('field_identifiers');
/** The same of passwords, payment cards, accounts, national ids and keys. What scanners of repositories look for is escaped. */
export const FIELD_SECRETS = recordsOf('field_secrets');
/** The same of what must stay as it is; without `raw`. */
export const FIELD_INNOCENTS = recordsOf('field_innocents');
export const LOOK_ALIKES = rowsOf('look_alikes').map(
  ([kind, country, text]): LookAlike => ({
    kind: textOf(kind),
    text: textOf(text),
    ...countryOf(country),
  }),
);
export const NOT_CAUGHT = rowsOf('not_caught').map(
  ([kind, text, left = '', why]): NotCaught => ({
    kind: textOf(kind),
    text: textOf(text),
    ...(left === '' ? {} : { left: textOf(left) }),
    why: textOf(why),
  }),
);

const ENTITIES: Readonly<Record<string, string>> = { commat: '@', period: '.', plus: '+' };

/**
 * A text with all that could hide an identifier undone, to be searched: written apart from the service's own way of
 * doing so, and coarser, as it need not keep anything readable.
 */
function undisguised(text: string): string {
  let plain = text;
  for (let round = 0; round < 4; round += 1) {
    plain = plain
      .replace(/&amp;/gi, '&')
      .replace(/&(commat|period|plus);/gi, (_, name: string) => ENTITIES[name.toLowerCase()] ?? '')
      .replace(/&#x0*([0-9a-f]{1,5});?/gi, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
      .replace(/&#0*([0-9]{1,6});?/g, (_, code: string) => String.fromCodePoint(Number(code)))
      .replace(/\\+(?:u\{?([0-9a-f]{2,4})\}?|x([0-9a-f]{2}))/gi, (_, four?: string, two?: string) =>
        String.fromCodePoint(Number.parseInt(four ?? two ?? '20', 16)),
      )
      .replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString());
  }
  return plain
    .normalize('NFKC')
    .replace(/\p{Cf}|\u034f|\u1160|\ufe0f|\u20e3/gu, '')
    .replace(/[\u3002\u2024]/g, '.')
    .toLowerCase();
}

/** Those of the raw texts that a text still holds, in whatever disguise. */
export function residue(text: string, raw: readonly string[]): string[] {
  const plain = undisguised(text);
  const digits = plain.replace(/\p{Nd}/gu, (digit) => String(digitValue(digit))).replace(/[^0-9a-z@{}:",]/g, '');
  return raw.filter((one) => {
    if (text.includes(one) || plain.includes(undisguised(one))) return true;
    return /^[0-9]+$/.test(one) && digits.includes(one);
  });
}

function digitValue(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value += 1;
  return value;
}
