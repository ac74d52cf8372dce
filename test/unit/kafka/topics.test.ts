import { expect, test } from 'vitest';
import { deadTopic, declareTopics, EVENT_TOPICS, STAGES, TOPICS } from '#infra/kafka/topics.ts';

const DAY_MS = 86_400_000;
/** Kafka's default of segment.ms: the oldest record of a segment outlives its retention by as much. */
const SEGMENT_MS = 7 * DAY_MS;

test('what was sent in again or resolved is known for longer than any letter can be there', () => {
  const topics = new Map(declareTopics(['webhook'], { eventPartitions: 4 }).map(({ name, config }) => [name, config]));
  const retentionOf = (name: string) => Number(topics.get(name)?.['retention.ms']);
  for (const stage of STAGES) {
    const config = topics.get(deadTopic(stage));
    const livesMs = retentionOf(deadTopic(stage)) + Number(config?.['segment.ms'] ?? SEGMENT_MS);
    expect(retentionOf(TOPICS.resent)).toBeGreaterThan(livesMs + DAY_MS);
    expect(retentionOf(TOPICS.resolved)).toBeGreaterThan(livesMs + DAY_MS);
  }
});

test('topics of events, and those that carry little, have as many partitions as is said', () => {
  const topics = new Map(
    declareTopics(['webhook'], { eventPartitions: 6, smallPartitions: 3 }).map(({ name, partitions }) => [
      name,
      partitions,
    ]),
  );
  expect(EVENT_TOPICS.map((name) => topics.get(name))).toEqual(EVENT_TOPICS.map(() => 6));
  const others = [...topics].filter(([name]) => !EVENT_TOPICS.includes(name));
  expect(Object.fromEntries(others)).toMatchObject({
    'identity.links': 3,
    'quota.usage': 3,
    'dead.warehouse': 3,
    'delivery.webhook.retry.5s': 3,
    'site.config': 1,
    'stage.offsets': 1,
  });
  expect(new Set(others.map(([, partitions]) => partitions))).toEqual(new Set([1, 3]));
});
