import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { passRetries } from '#infra/kafka/kafkajs_patches/clusters.ts';
import { fenceStage } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { until } from '#test/harness/until.ts';
import { deliveredCount } from '../oracle/deliveries.ts';
import type { Row, RowContext } from '../row.ts';
import { untilMembers } from '../world/groups.ts';

const WEBHOOK = 'delivery.webhook';
/** Long enough that a transaction is nearly always open, or about to be opened, when it is barred. */
const ANSWER_MS = 50;
const BARRED_TIMES = 12;
const BARRED_PAUSE_MS = 1_500;
/** A broker answers that a transaction is under way until it has ended the one of who is barred: on three busy brokers for ten seconds and more. */
const BARRED_RETRY = { retries: 60, initialRetryTime: 500, maxRetryTime: 500 };
/** So slow that what is in hand takes longer than is waited for before partitions are given away. */
const SLOW_ANSWER_MS = 1_000;
const ROUNDS = 2;
const STOP_MS_MAX = 25_000;
const BEGUN_MS = 60_000;

/**
 * Transactions of a delivery process fail again and again behind its calls, as its transactional ids are taken by
 * somebody else. Nobody dies and no partition moves, so nothing is sent a second time.
 */
export const TRANSACTION_FAILS: Row = {
  name: 'delivery.transaction_fails',
  requestsPerSecond: 20,
  async fault(context) {
    const { world, untilSent, events } = context;
    await untilSent(events / 8);
    await answersTake(context, ANSWER_MS);
    const brokers = world.addresses.kafkaBrokers.split(',');
    const kafka = new Kafka({ brokers, retry: BARRED_RETRY, logLevel: logLevel.NOTHING });
    passRetries(kafka, BARRED_RETRY);
    for (let times = 0; times < BARRED_TIMES; times++) {
      await fenceStage(kafka, `svc.${WEBHOOK}`, TOPICS.identified, world.eventPartitions, 1);
      await sleep(BARRED_PAUSE_MS);
    }
    await answersTake(context, 0);
  },
};

/**
 * Members join and leave while the destination is slow and much is in hand. Who gives a partition away stops at the next
 * call and commits what was done, so that its successor sends the rest and nothing is sent by both.
 */
export const REBALANCE_DURING_DELIVERY: Row = {
  name: 'rebalance_during_delivery',
  oneProcess: true,
  requestsPerSecond: 20,
  async fault(context) {
    const { world, site, untilSent, events } = context;
    await world.fleet.stop(WEBHOOK);
    await answersTake(context, SLOW_ANSWER_MS);
    await untilSent(events / 2);
    await world.fleet.restart(WEBHOOK);
    for (let round = 0; round < ROUNDS; round++) {
      const before = await deliveredCount(world.standins.webhook, site.scopes.webhook);
      await until(
        'deliveries under way',
        () => deliveredCount(world.standins.webhook, site.scopes.webhook),
        (count) => count > before,
        { timeoutMs: BEGUN_MS },
      );
      const replica = await world.fleet.replicate(WEBHOOK);
      await untilMembers(world, WEBHOOK, 2);
      const { code, tookMs } = await world.fleet.stop(replica);
      if (code !== 0 || tookMs > STOP_MS_MAX) {
        throw new Error(`${replica} ended on SIGTERM with ${code} after ${Math.round(tookMs)} ms`);
      }
      await untilMembers(world, WEBHOOK, 1);
    }
    await answersTake(context, 0);
  },
};

/** Has the webhook's stand-in take so long for each answer of this site. */
async function answersTake({ world, site }: RowContext, delayMs: number): Promise<void> {
  const rules = delayMs === 0 ? [] : [{ fault: { kind: 'none' }, scope: site.scopes.webhook, delay_ms: delayMs }];
  const response = await fetch(`${world.standins.webhook}/_standin/script`, {
    method: 'POST',
    body: JSON.stringify({ rules }),
  });
  if (!response.ok) throw new Error(`the stand-in refused a script: ${response.status}`);
}
