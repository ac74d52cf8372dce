import { hash } from 'node:crypto';
import { asked, type Redis } from './client.ts';

/** Notes under secrets, each to be taken once; every call throws RedisUnavailableError where Redis does not answer. */
export interface OneTimeNotes {
  put(kind: NoteKind, secret: string, note: object, forMs: number): Promise<void>;
  /** The note, which is gone then; null where there is none, or no more. */
  take(kind: NoteKind, secret: string): Promise<unknown>;
}

/** A sign-in that is under way at a provider; an invitation to link an account. */
type NoteKind = 'oidc' | 'invitation';

/** Whoever reads Redis finds no secret. */
const keyOf = (kind: NoteKind, secret: string): string => `once:${kind}:${hash('sha256', secret)}`;

export function createOneTimeNotes(redis: Redis): OneTimeNotes {
  return {
    async put(kind, secret, note, forMs) {
      await asked(redis.set(keyOf(kind, secret), JSON.stringify(note), 'PX', forMs));
    },
    async take(kind, secret) {
      const text = await asked(redis.getdel(keyOf(kind, secret)));
      return text === null ? null : JSON.parse(text);
    },
  };
}
