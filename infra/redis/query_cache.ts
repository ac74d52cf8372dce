import { hash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { within, withRedisErrors } from './client.ts';
import type { Redis } from './connection.ts';

/** A text that several processes would work out alike, and for how long it holds. */
export interface SharedAnswer {
  text: string;
  cacheTtlMs: number;
}

/** Answers that one process works out for all, where Redis can be asked. */
export type SharedQueryCache = ReturnType<typeof createSharedAnswers>;

/** A process that says nothing for so long works no more. */
const LEASE_MS = 3_000;
const RENEW_MS = 1_000;
const POLL_MS = 100;
const REDIS_MS_MAX = 500;
/** What Redis must hold besides is worth more: it evicts nothing. */
const KEPT_MS_MAX = 60_000;
const TEXT_MAX = 64 * 1024;
const BYTES_A_MINUTE = 16 * 1024 ** 2;
const MINUTE_MS = 60_000;

/** @param nowMs Milliseconds of a clock that only goes forward. */
export function createSharedAnswers(redis: Redis, nowMs: () => number) {
  const held = new Map<string, { token: string; renewing: NodeJS.Timeout }>();
  let minute = { since: nowMs(), bytes: 0 };
  const quickly = <T>(command: Promise<T>): Promise<T> => within(REDIS_MS_MAX, withRedisErrors(command));

  function mayPut(bytes: number): boolean {
    if (nowMs() - minute.since >= MINUTE_MS) minute = { since: nowMs(), bytes: 0 };
    if (bytes > TEXT_MAX || minute.bytes + bytes > BYTES_A_MINUTE) return false;
    minute.bytes += bytes;
    return true;
  }

  async function take({ lease }: Names): Promise<boolean> {
    const token = randomUUID();
    if ((await quickly(redis.set(lease, token, 'PX', LEASE_MS, 'NX'))) === null) return false;
    const renew = (): void => void quickly(redis.set(lease, token, 'PX', LEASE_MS, 'XX')).catch(() => undefined);
    held.set(lease, { token, renewing: setInterval(renew, RENEW_MS).unref() });
    return true;
  }

  return {
    /**
     * Resolves to what a process has answered to a question, or answers once it has; null: nobody did, and the caller is to
     * work it out and hand it in.
     *
     * @param signal Ends the waiting: null then.
     */
    async find(question: string, signal: AbortSignal): Promise<string | null> {
      const names = namesOf(question);
      try {
        while (!signal.aborted) {
          const text = await quickly(redis.get(names.answer));
          if (text !== null) return text;
          if (await take(names)) return null;
          await sleep(POLL_MS);
        }
      } catch {
        // Without Redis each process works for itself; that it is away is told by those who cannot do without it.
      }
      return null;
    },
    /** To be called by whoever was told null, also where there is no answer to share. */
    async done(question: string, answer: SharedAnswer | null): Promise<void> {
      const { lease, answer: name } = namesOf(question);
      const own = held.get(lease);
      if (own === undefined) return;
      clearInterval(own.renewing);
      held.delete(lease);
      try {
        if (answer !== null && answer.cacheTtlMs > 0 && mayPut(Buffer.byteLength(answer.text))) {
          await quickly(redis.set(name, answer.text, 'PX', Math.min(answer.cacheTtlMs, KEPT_MS_MAX)));
        }
        if ((await quickly(redis.get(lease))) === own.token) await quickly(redis.del(lease));
      } catch {
        // The lease ends by itself.
      }
    },
  };
}

interface Names {
  answer: string;
  lease: string;
}

function namesOf(question: string): Names {
  const digest = hash('sha256', question, 'hex');
  return { answer: `query.answer:${digest}`, lease: `query.lease:${digest}` };
}
