import { REDACTED } from './redacted.ts';

const COLON = '(?::|%(?:25)*3A)';
const SLASH = String.raw`(?:\\{0,8}\/|%(?:25)*2F)`;
const AT_SIGN = '(?:@|%(?:25)*40)';
const ENDS = String.raw`\s/?#"'<>\\`;
const ENCODED_ENDS = '%(?:25)*(?:0[9AD]|2[0237F]|3[CEF]|5C)';
/** Ends at the first colon. */
const USER = `(?:(?!${ENCODED_ENDS}|${COLON}|${AT_SIGN})[^${ENDS}]){0,256}`;
/** Goes to the last at sign before the path: not everybody encodes those in it. */
const PASSWORD = `(?:(?!${ENCODED_ENDS})[^${ENDS}]){0,1024}`;
const USERINFO = new RegExp(`(?<start>${COLON}${SLASH}{2})${USER}${COLON}${PASSWORD}(?<sign>${AT_SIGN})`, 'gi');

/** Replaces the user and the password before a URL's host by one redaction word: `https://jane:secret@shop.example/`. */
export function redactUserinfo(text: string): string {
  return text.replace(USERINFO, `$<start>${REDACTED}$<sign>`);
}
