import { expect, inject, test } from 'vitest';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { replayTopic } from '#pipelines/delivery/retry_topics.ts';
import type { Replay } from '#schemas/setting.ts';
import { planRange, type ReplayContext, type Source } from '#services/redelivery/replay_source.ts';
import { kafkaOf, produce, quiet, uniqueName } from '#test/harness/kafka.ts';
import type {} from '#test/harness/shared_parts.ts';
import { setOffset } from '../kafka/set_offset.ts';

test('a replay waits for the outcomes that stand there when it asks, and not for those that come all the time', async () => {
  const name = uniqueName('steady');
  const kafka = kafkaOf(inject('parts').addresses.kafkaBrokers, 'test', undefined, `${name}.`);
  const admin = kafka.admin();
  await admin.connect();
  const topics = [TOPICS.outcomes, TOPICS.identified, replayTopic('meta')];
  await admin.createTopics({ waitForLeaders: true, topics: topics.map((topic) => ({ topic, numPartitions: 1 })) });
  const three = Array.from({ length: 3 }, () => ({ partition: 0, value: 'outcome' }));
  await produce(kafka, TOPICS.outcomes, three);

  const groupOf = (group: string): string => `${name}.${group}`;
  const session = { kafka, admin, groupOf, config: { eventPartitions: 1 } } as unknown as KafkaSession;
  const context = { session, logger: quiet, nowMs: Date.now } as unknown as ReplayContext;
  const replay = { destination: 'meta', from: 0, to: Date.now(), force: false } as Replay;
  const source: Source = {
    ...{ topic: TOPICS.identified, sharedWithDelivery: false, repeats: false },
    read: async () => ({ views: [], unreadable: false }),
  };
  const waited: string[] = [];
  const warehouse = { groupId: groupOf('warehouse'), topic: TOPICS.outcomes };
  const range = await planRange(
    context,
    replay,
    source,
    () => false,
    async (what) => {
      waited.push(what);
      // What stood there is stored, and as much has come meanwhile.
      await produce(kafka, TOPICS.outcomes, three);
      await setOffset({ kafka, admin }, warehouse, { offset: '3', metadata: '' });
    },
  );
  await admin.disconnect();
  expect([waited, range === null]).toEqual([['warehouse'], false]);
});
