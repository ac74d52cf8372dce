import { randomBytes } from 'node:crypto';
import type { Logger } from '#infra/log/logger.ts';
import { withRedisErrors } from './client.ts';
import type { Redis } from './connection.ts';

const DAY_MS = 86_400_000;
const SALT_BYTES = 32;
const TTL_S = 3 * 86_400;
const REFRESH_MS = 60_000;

/**
 * Salts of anonymous ids: random, one a UTC day, shared by all edges, gone two days after. Keeps those of today and tomorrow.
 * While Redis is away and a salt was never read, a random one of this process stands in: anonymous visitors may then count
 * twice that day, and nothing else changes.
 */
export async function createDaySalts(redis: Redis, logger: Logger, nowMs: () => number) {
  const shared = new Map<number, Buffer>();
  const own = new Map<number, Buffer>();

  async function refresh(): Promise<void> {
    const today = Math.floor(nowMs() / DAY_MS);
    for (const day of [today, today + 1]) shared.set(day, await fetchSalt(redis, day, shared.get(day)));
    for (const salts of [shared, own]) for (const day of salts.keys()) if (day < today - 1) salts.delete(day);
  }
  const tryRefresh = (): Promise<void> =>
    refresh().catch((error: unknown) => logger.warn({ err: error }, 'day salts unavailable, using a local one'));

  await tryRefresh();
  const timer = setInterval(() => void tryRefresh(), REFRESH_MS);
  return {
    /** The salt of the day a time lies in. */
    at(timeMs: number): Buffer {
      const day = Math.floor(timeMs / DAY_MS);
      const salt = shared.get(day) ?? own.get(day) ?? randomBytes(SALT_BYTES);
      if (!shared.has(day)) own.set(day, salt);
      return salt;
    },
    stop: (): void => clearInterval(timer),
  };
}

/** The salt that all share. One that is known here is put back where Redis has lost it. */
async function fetchSalt(redis: Redis, day: number, known: Buffer = randomBytes(SALT_BYTES)): Promise<Buffer> {
  const fresh = known.toString('base64');
  const held = await withRedisErrors(redis.set(`salt:${day}`, fresh, 'EX', TTL_S, 'NX', 'GET'));
  return Buffer.from(held ?? fresh, 'base64');
}
