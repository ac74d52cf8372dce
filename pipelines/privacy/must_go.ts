import type { KeyMeaning } from './key_words.ts';
import { isBarePhone, looksLikePhone } from './phone_like.ts';
import { isSecret } from './secret_words.ts';

/** Whether the value that a text gives under a name is an identifier or a secret, for an anonymous site also of a visitor. */
export function mustGo({ removal, secret }: KeyMeaning, value: string, anonymous: boolean): boolean {
  if (value === '') return false;
  if (secret !== null && isSecret(secret, value)) return true;
  if (removal === 'if_bare_phone') return isBarePhone(value);
  if (removal === 'if_phone') return looksLikePhone(value);
  return removal === 'always' || (anonymous && (removal === 'if_anonymous' || removal === 'if_offline'));
}
