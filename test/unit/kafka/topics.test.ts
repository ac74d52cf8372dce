import { expect, test } from 'vitest';
import { deadTopic, declareTopics, STAGES, TOPICS } from '#infra/kafka/topics.ts';

const DAY_MS = 86_400_000;
/** Kafka's default of segment.ms: the oldest record of a segment outlives its retention by as much. */
const SEGMENT_MS = 7 * DAY_MS;

test('what was sent in again or resolved is known for longer than any letter can be there', () => {
  const topics = new Map(declareTopics(4, ['webhook']).map(({ name, config }) => [name, config]));
  const retentionOf = (name: string) => Number(topics.get(name)?.['retention.ms']);
  for (const stage of STAGES) {
    const config = topics.get(deadTopic(stage));
    const livesMs = retentionOf(deadTopic(stage)) + Number(config?.['segment.ms'] ?? SEGMENT_MS);
    expect(retentionOf(TOPICS.resent)).toBeGreaterThan(livesMs + DAY_MS);
    expect(retentionOf(TOPICS.resolved)).toBeGreaterThan(livesMs + DAY_MS);
  }
});
