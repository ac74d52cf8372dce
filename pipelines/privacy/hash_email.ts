import { asSha256, sha256Hex } from './hashed_form.ts';
import { normaliseEmail } from './normalise_email.ts';

const GOOGLE_DOMAINS = new Set(['gmail.com', 'googlemail.com']);

export interface EmailHashes {
  email: string;
  /** Google's rule; null when equal to `email`. */
  email_google: string | null;
  /** Microsoft's and Reddit's rule; null when equal to `email`. */
  email_stripped: string | null;
}

/**
 * Hashes an e-mail address in the variants the platforms disagree on: dots and plus tag kept (Meta, TikTok, Snapchat,
 * Pinterest, LinkedIn), removed for gmail.com and googlemail.com (Google), removed for every domain (Microsoft,
 * Reddit). One of Google's of which nothing is left is none. A SHA-256 given instead of an address stands for all of them. Anything else, an MD5 sum included, is null.
 */
export function hashEmail(text: string): EmailHashes | null {
  const given = asSha256(text.trim());
  if (given !== null) return { email: given, email_google: null, email_stripped: null };
  const email = normaliseEmail(text);
  if (email === null) return null;
  const at = email.lastIndexOf('@');
  const stripped = stripLocalPart(email, at);
  const strippedHash = stripped === null || stripped === email ? null : sha256Hex(stripped);
  const isGoogle = GOOGLE_DOMAINS.has(email.slice(at + 1));
  // Google gives out no such address, and asks that none be sent.
  if (isGoogle && stripped === null) return null;
  return { email: sha256Hex(email), email_google: isGoogle ? strippedHash : null, email_stripped: strippedHash };
}

function stripLocalPart(email: string, at: number): string | null {
  const plus = email.indexOf('+');
  const local = email.slice(0, plus >= 0 && plus < at ? plus : at).replaceAll('.', '');
  return local === '' ? null : local + email.slice(at);
}
