import { expect, onTestFinished, test } from 'vitest';
import { openTopicIds } from '#infra/kafka/offsets.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { useKafka } from './stage_fixture.ts';

const kafka = useKafka();

test.for(['made-anew', 'with-a-name-of-two-bytes-of-length'.padEnd(200, '-')])(
  'a topic made anew has another id: %s',
  async (prefix) => {
    const world = kafka();
    const ids = await openTopicIds(world.kafka);
    onTestFinished(() => ids.close());
    const topic = uniqueName(prefix);
    const make = () => world.admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: false });
    // A broker knows a new topic only a little after it was made.
    await make();
    const first = await until('an id', () => ids.of(topic));
    expect(first).toMatch(/^[\w-]{22}$/);
    expect(await ids.of(topic)).toBe(first);
    await world.admin.deleteTopics({ topics: [topic] });
    await until('no topic', () =>
      ids.of(topic).then(
        () => false,
        ({ type }) => type === 'UNKNOWN_TOPIC_OR_PARTITION',
      ),
    );
    await make();
    const second = await until('an id', () => ids.of(topic));
    expect(second).toMatch(/^[\w-]{22}$/);
    expect(second).not.toBe(first);
  },
);
