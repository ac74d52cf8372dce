// How far each stage is, as Kafka has it.
import { lagOf, readStages, type StageReading, type StageWatchOptions } from '#infra/kafka/consumer/lag_watch.ts';
import { isRetryTopic } from '#pipelines/delivery/retry_topics.ts';
import { kept, rateBetween, type StageMoment } from '#pipelines/stage.ts';
import type { StageItem } from '#services/control_api/operations.ts';

/** Kafka did not answer. */
class StagesError extends Error {
  readonly code = 'stages_unavailable';
}

/** How far the stages are, as Kafka has it. */
export interface StageView {
  /** @throws StagesError */
  read(stages: readonly string[]): Promise<StageItem[]>;
}

/** Everybody who looks within this time sees the same, so that Kafka is asked no more by many than by one. */
const SHARED_MS = 2_000;

export function createStageView(options: StageWatchOptions): StageView {
  const { nowMs } = options;
  const moments = new Map<string, StageMoment>();
  let shared: { key: string; atMs: number; items: Promise<StageItem[]> } | null = null;

  function itemOf(reading: StageReading): StageItem {
    const { stage, consumers, positions, waitsMs } = reading;
    const now = { atMs: nowMs(), taken: takenOf(reading) };
    const before = moments.get(stage) ?? null;
    moments.set(stage, kept(before, now));
    const own = positions.filter(({ topic }) => !isRetryTopic(topic));
    const retryTopics = positions.filter(({ topic }) => isRetryTopic(topic));
    const ages = [...waitsMs].flatMap(([topic, ageMs]) => (isRetryTopic(topic) ? [] : [ageMs]));
    return {
      ...{ stage, consumers, lag: own.length === 0 ? null : sum(own), on_lanes: sum(retryTopics) },
      waits_longer_than_ms: ages.length === 0 ? null : Math.max(...ages),
      rate: rateBetween(before, now),
    };
  }

  async function ask(stages: readonly string[]): Promise<StageItem[]> {
    try {
      return (await readStages(options, stages)).map(itemOf);
    } catch (error) {
      const passes = error instanceof Error && error.name.startsWith('KafkaJS');
      throw passes ? new StagesError('Kafka cannot be asked', { cause: error }) : error;
    }
  }

  return {
    read(stages) {
      const key = stages.join();
      if (shared === null || shared.key !== key || Math.abs(nowMs() - shared.atMs) >= SHARED_MS) {
        shared = { key, atMs: nowMs(), items: ask(stages) };
      }
      return shared.items;
    },
  };
}

const sum = (positions: StageReading['positions']): number =>
  positions.reduce((records, position) => records + lagOf(position).records, 0);

const takenOf = ({ positions }: StageReading): Map<string, number> =>
  new Map(positions.map(({ topic, partition, committed }) => [`${topic} ${partition}`, committed ?? 0]));
