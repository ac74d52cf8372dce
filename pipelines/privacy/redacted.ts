/** What stands where an identifier stood: a plain word, so that URLs and JSON texts stay readable to their parsers. */
export const REDACTED = 'redacted';
