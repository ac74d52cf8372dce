import { coreOfText, readableText } from '#pipelines/engage/folded_text.ts';
import { keyedHash } from '#pipelines/privacy/keyed_hash.ts';

/** Shorter ones are what many people write. */
const TEXT_COUNTED_FROM = 30;

/** What stands for something that is counted: nobody without the secret can tell what it is. */
export function digestOf(secret: Buffer, text: string): string {
  return keyedHash(secret, `count\0${text}`).toString('base64url').slice(0, 22);
}

/** What stands for texts that were written together, small changes left out; null: they are too short to tell anything. */
export function textDigest(secret: Buffer, texts: readonly string[]): string | null {
  const text = readableText(texts.join('\n')).replaceAll(/\s+/g, ' ').trim();
  return text.length < TEXT_COUNTED_FROM ? null : digestOf(secret, coreOfText(text));
}
