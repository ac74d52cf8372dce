import { hash } from 'node:crypto';

const HEX_64 = /^[0-9a-f]{64}$/i;
const HEX_32 = /^[0-9a-f]{32}$/i;

/** SHA-256 in lower-case hex, the form every advertising platform takes. */
export function sha256Hex(text: string): string {
  return hash('sha256', text);
}

/** The SHA-256 a sender has hashed already, lower-cased, or null. Meta's libraries pass 64 hex digits through likewise. */
export function asSha256(text: string): string | null {
  return text.length === 64 && HEX_64.test(text) ? text.toLowerCase() : null;
}

/** Whether the text is an MD5 sum: no platform matches it, so it is refused instead of being hashed a second time. */
export function isMd5(text: string): boolean {
  return text.length === 32 && HEX_32.test(text);
}
