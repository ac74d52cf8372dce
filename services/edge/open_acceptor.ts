import { v7 as uuidv7 } from 'uuid';
import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import type { EdgeConfig } from '#infra/config/edge_config.ts';
import type { PartitionSender } from '#infra/kafka/producer/sender.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createAdmissionStore } from '#infra/redis/admission.ts';
import type { Redis } from '#infra/redis/client.ts';
import { createDaySalts } from '#infra/redis/salts.ts';
import { createMemoryLimits } from '#pipelines/limits/sliding_window.ts';
import type { Runtime } from '#services/runtime.ts';
import { type AcceptOptions, type Acceptor, createAcceptor } from './accept.ts';
import { type Admitter, createAdmitter } from './admission.ts';
import { createReservationLeases } from './reservation_leases.ts';

/** SPEC section 8. */
export const RATE_WINDOW_MS = 10_000;
/** Longest that Redis is waited for before the limits are counted in this process alone. */
const ADMISSION_MS_MAX = 1_000;

/** The rate limits and the month's allowance, which the edges share in Redis. */
export async function openAdmitter(
  { session, metrics, logger, onStop }: Runtime,
  config: EdgeConfig,
  redis: Redis,
  addressOf: (clientIp: string) => string | null,
): Promise<Admitter> {
  const partitions = session.config.eventPartitions;
  const limits = { windowMs: RATE_WINDOW_MS, perIp: config.requestsPerIp, perKey: config.requestsPerKey };
  const store = createAdmissionStore(redis, {
    limits,
    cluster: config.parts.redisCluster,
    checkpointsWanted: partitions,
    deadlineMs: ADMISSION_MS_MAX,
  });
  const admitter = await createAdmitter({
    store,
    memory: createMemoryLimits(limits),
    leases: createReservationLeases({
      renew: async (leases, leaseMs) => (await store.renew(leases, leaseMs)) >= partitions,
      leaseMs: config.leaseMs,
      nowMs: monotonicMs,
    }),
    addressOf,
    nowMs: monotonicMs,
    metrics,
    logger,
  });
  onStop(async () => admitter.stop());
  return admitter;
}

/** The way in for events, by which every protocol goes. */
export async function openAcceptor(
  { registry, session, metrics, logger, onStop }: Runtime,
  { identitySecret }: EdgeConfig,
  parts: {
    redis: Redis;
    admitter: Admitter;
    sender: PartitionSender;
    refusals: AcceptOptions['refusals'];
    onAccepted: AcceptOptions['onAccepted'];
  },
): Promise<Acceptor> {
  const schemaId = await registry.idOf(TOPICS.raw, 'event_batch');
  const salts = await createDaySalts(parts.redis, logger, Date.now);
  onStop(async () => salts.stop());
  return createAcceptor({
    sender: parts.sender,
    admitter: parts.admitter,
    schemaId,
    partitions: session.config.eventPartitions,
    anonymousSalt: (nowMs) => salts.at(nowMs),
    identitySecret,
    randomEventId: uuidv7,
    nowMs: Date.now,
    metrics,
    refusals: parts.refusals,
    onAccepted: parts.onAccepted,
  });
}
