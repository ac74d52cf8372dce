import { createHash } from 'node:crypto';

/** SHA-256 in lower-case hex. */
export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');
