import { Redis } from 'ioredis';
import { quotaKey } from '#infra/redis/quota/admission.ts';
import { monthOf } from '#pipelines/quota/limits.ts';
import type { SharedService } from './shared_service.ts';

export interface Counted {
  used: number;
  held: number;
}

/** The counter of an account's present month, as the edges see it. */
export async function countedUsage({ ready }: Pick<SharedService, 'ready'>, account: string): Promise<Counted> {
  const redis = new Redis(ready.redis);
  try {
    const [used, held] = await redis.hmget(quotaKey(account, monthOf(Date.now())), 'used', 'held');
    return { used: Number(used ?? 0), held: Number(held ?? 0) };
  } finally {
    redis.disconnect();
  }
}
