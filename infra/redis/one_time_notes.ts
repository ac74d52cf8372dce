import { hash } from 'node:crypto';
import type { RecordSeal } from '#infra/secrets/seal.ts';
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
const idOf = (secret: string): string => hash('sha256', secret);
const keyOf = (kind: NoteKind, id: string): string => `once:${kind}:${id}`;

/** @param seal Tells notes of control services from what else somebody who may write Redis put there, which is no note. */
export function createOneTimeNotes(redis: Redis, seal: RecordSeal, nowMs: () => number): OneTimeNotes {
  return {
    async put(kind, secret, note, forMs) {
      const id = idOf(secret);
      const text = JSON.stringify({ note, untilMs: nowMs() + forMs });
      await asked(redis.set(keyOf(kind, id), seal.seal(`once:${kind}`, id, text), 'PX', forMs));
    },
    async take(kind, secret) {
      const id = idOf(secret);
      const sealed = await asked(redis.getdel(keyOf(kind, id)));
      const text = sealed === null ? null : seal.open(`once:${kind}`, id, sealed);
      const { note, untilMs } = text === null ? { note: null, untilMs: 0 } : JSON.parse(text);
      return nowMs() < untilMs ? note : null;
    },
  };
}
