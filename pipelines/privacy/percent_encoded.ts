import { isUtf8 } from 'node:buffer';

/** What ends a part of a URL, or a word: none of it is in a value. */
const ENDS = new Uint8Array(128);
for (const code of Buffer.from('&?#;/= \t\r\n"\'<>')) ENDS[code] = 1;
const ESCAPES = /(?:%(?:25)*[0-9A-F]{2})+/gi;
const ASCII_ESCAPE = /%([2-7][0-9A-F])/gi;
const ENCODED_AGAIN = /%(?:25)+(?=[0-9A-F]{2})/gi;
const FIRST_ESCAPE = /%((?:25)*)[0-9A-F]{2}/i;
const ROUNDS_MAX = 3;

/**
 * The text with each percent-encoded part replaced by what `redact` makes of it decoded, encoded as often again; parts
 * that `redact` leaves are left too.
 */
export function redactEncoded(text: string, redact: (decoded: string) => string): string {
  let clean = '';
  let kept = 0;
  let percent = text.indexOf('%');
  while (percent >= 0) {
    let start = percent;
    while (start > kept && !isEnd(text, start - 1)) start -= 1;
    let end = percent + 1;
    while (end < text.length && !isEnd(text, end)) end += 1;
    clean += text.slice(kept, start) + redactPart(text.slice(start, end), redact);
    kept = end;
    percent = text.indexOf('%', end);
  }
  return clean + text.slice(kept);
}

function redactPart(part: string, redact: (decoded: string) => string): string {
  const decoded = part.replace(ESCAPES, decode);
  if (decoded === part) return part;
  const clean = redact(decoded);
  return clean === decoded ? part : encode(clean, FIRST_ESCAPE.exec(part)?.[1]?.length ?? 0);
}

/**
 * Decodes a run of escapes, however often it was encoded; of one that is no UTF-8 what is ASCII. Without the exceptions of
 * `decodeURIComponent`: each costs as much as a page of text, and a text may hold nothing else.
 */
function decode(run: string): string {
  const once = run.replace(ENCODED_AGAIN, '%');
  const bytes = Buffer.from(once.replaceAll('%', ''), 'hex');
  if (isUtf8(bytes)) return bytes.toString();
  return once.replace(ASCII_ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function encode(text: string, characters: number): string {
  let encoded = encodeURIComponent(text.toWellFormed());
  for (let round = 0; round < Math.min(characters / 2, ROUNDS_MAX); round += 1) encoded = encodeURIComponent(encoded);
  return encoded;
}

function isEnd(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code < 128 && ENDS[code] === 1;
}
