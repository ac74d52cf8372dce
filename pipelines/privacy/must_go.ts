import type { KeyMeaning } from './key_words.ts';
import { isBarePhone, looksLikePhone } from './phone_like.ts';

/** Whether the value that a text gives under a name is an identifier, for an anonymous site also of a visitor. */
export function mustGo({ removal }: KeyMeaning, value: string, anonymous: boolean): boolean {
  if (value === '') return false;
  if (removal === 'if_bare_phone') return isBarePhone(value);
  if (removal === 'if_phone') return looksLikePhone(value);
  return removal === 'always' || (anonymous && (removal === 'if_anonymous' || removal === 'if_offline'));
}
