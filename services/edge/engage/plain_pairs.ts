import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';

/** What browsers send from a page in no other coding, by far (WHATWG Encoding: ISO-8859-1 is read as windows-1252 too). */
const USUAL_CODING = 'windows-1252';

/**
 * The names and values of a plain form. A browser sends them in the coding of its page, and names that in a hidden field
 * `_charset_` where the form has one. Without it they are UTF-8 where all bytes are, else windows-1252.
 */
export function readPlainPairs(body: Buffer): URLSearchParams {
  const pairs = body
    .toString('latin1')
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => [pair.split('=', 1)[0] ?? '', pair.slice(pair.indexOf('=') + 1 || pair.length)].map(unescaped));
  const named = pairs.find(([name]) => name?.toString('latin1') === '_charset_')?.[1]?.toString('latin1') ?? '';
  const decoder = decoderOf(named) ?? utf8OrUsual(pairs.flat());
  return new URLSearchParams(
    pairs.map(([name, value]): [string, string] => [decoder.decode(name), decoder.decode(value)]),
  );
}

/** The bytes that a part of the body stands for; what is no escape stands for itself. */
function unescaped(part: string): Buffer {
  const text = part
    .replaceAll('+', ' ')
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(text, 'latin1');
}

/** Null: no coding that a page may have, or UTF-8, which is tried anyway. */
function decoderOf(label: string): TextDecoder | null {
  try {
    const decoder = new TextDecoder(label);
    return decoder.encoding.startsWith('utf-') ? null : decoder;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function utf8OrUsual(parts: readonly Buffer[]): TextDecoder {
  return parts.every(isUtf8) ? new TextDecoder('utf-8', { ignoreBOM: true }) : new TextDecoder(USUAL_CODING);
}
