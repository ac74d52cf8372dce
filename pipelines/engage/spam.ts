import type { TokenCheck } from './engage_token.ts';
import type { Form } from './form.ts';

/** Why something counts as spam. */
export type SpamReason =
  | 'token_missing'
  | 'token_forged'
  | 'token_expired'
  | 'token_used'
  | 'honeypot'
  | 'too_fast'
  | 'links'
  | 'domain'
  | 'address_limit'
  | 'email_limit'
  | 'repeated_text'
  | 'challenge_missing';

export type SpamVerdict = { kind: 'clean' } | { kind: 'doubt' } | { kind: 'spam'; reason: SpamReason };

/** How often the same was seen, this time included; null where nobody could be asked. */
export interface SpamCounts {
  /** The token came with another submission before. */
  tokenUsed: boolean;
  /** Submissions of the address in 10 minutes. */
  address: number;
  /** Submissions with the e-mail address in an hour. */
  email: number;
  /** Submissions with the same text in an hour. */
  text: number;
}

export const ADDRESS_WINDOW_S = 600;
export const EMAIL_WINDOW_S = 3_600;
export const TEXT_WINDOW_S = 3_600;
const ADDRESS_DOUBT = 10;
/** People who share an address, as those of an office, prove that they are no program beyond ADDRESS_DOUBT. */
const ADDRESS_MAX = 60;
/** A form without script can prove nothing. */
const ADDRESS_WITHOUT_TOKEN_MAX = 3;
const EMAIL_MAX = 3;
const TEXT_DOUBT = 5;
const TEXT_MAX = 20;
const LINK = /https?:\/\/|\bwww\.|\[url|<a\s/gi;

export interface Submission {
  /** A plain HTML form, which has no token. */
  withoutScript: boolean;
  token: TokenCheck;
  honeypot: string;
  /** What the visitor wrote. */
  texts: readonly string[];
  /** Of the visitor's e-mail address; null: none. */
  emailDomain: string | null;
  nowMs: number;
}

const CLEAN: SpamVerdict = { kind: 'clean' };
const DOUBT: SpamVerdict = { kind: 'doubt' };
const spam = (reason: SpamReason): SpamVerdict => ({ kind: 'spam', reason });

/** What a submission says by itself. The time is that of the token, not of the visitor's clock. */
export function judgeAlone({ spam: rules }: Pick<Form, 'spam'>, sent: Submission): SpamVerdict {
  if (sent.honeypot !== '') return spam('honeypot');
  const isExcused = sent.withoutScript && rules.without_script && rules.challenge !== 'always';
  if (!sent.token.ok && !(isExcused && sent.token.code === 'token_missing')) return spam(sent.token.code);
  if (sent.token.ok && sent.nowMs - sent.token.issuedMs < rules.min_ms) return spam('too_fast');
  const links = sent.texts.reduce((count, text) => count + (text.match(LINK)?.length ?? 0), 0);
  if (links > rules.links_max) return spam('links');
  if (sent.emailDomain !== null && isBlocked(sent.emailDomain, rules.domains_blocked)) return spam('domain');
  return rules.challenge === 'always' ? DOUBT : CLEAN;
}

/** What it says beside the others that came before. */
export function judgeAmongOthers(sent: Pick<Submission, 'token'>, counts: SpamCounts): SpamVerdict {
  if (counts.tokenUsed) return spam('token_used');
  const addressMax = sent.token.ok ? ADDRESS_MAX : ADDRESS_WITHOUT_TOKEN_MAX;
  if (counts.address > addressMax) return spam('address_limit');
  if (counts.email > EMAIL_MAX) return spam('email_limit');
  if (counts.text > TEXT_MAX) return spam('repeated_text');
  return counts.address > ADDRESS_DOUBT || counts.text > TEXT_DOUBT ? DOUBT : CLEAN;
}

/** A domain and every name below it. */
function isBlocked(domain: string, blocked: readonly string[]): boolean {
  return blocked.some((one) => domain === one.toLowerCase() || domain.endsWith(`.${one.toLowerCase()}`));
}
