import { retryTopicName } from '#pipelines/delivery/retry_topics.ts';
import { until } from '#test/harness/until.ts';
import { endsOf } from '../oracle/topics.ts';
import type { Row } from '../row.ts';

const DIVERTED_MS = 60_000;

/**
 * A destination answers 503 while events flow, and its delivery process dies right behind a commit by which events went
 * to a retry lane. When the destination is well again all are delivered from the lanes.
 */
export const DESTINATION_OUTAGE: Row = {
  name: 'destination_outage',
  resends: true,
  requestsPerSecond: 20,
  async fault({ world, site, random, untilSent, events }) {
    const setRules = async (rules: object[]): Promise<void> => {
      const body = JSON.stringify({ rules });
      const response = await fetch(`${world.standins.webhook}/_standin/script`, { method: 'POST', body });
      if (!response.ok) throw new Error(`the stand-in refused a script: ${response.status}`);
    };
    await untilSent(events / 4);
    await setRules([{ fault: { kind: 'status', status: 503 }, scope: site.scopes.webhook }]);
    const retryTopic = retryTopicName('webhook', '5s');
    const before = await recordsOn(world.addresses.kafkaBrokers, retryTopic);
    const deaths = world.fleet.deaths('delivery.webhook');
    await world.fleet.arm('delivery.webhook', 'stage.after_commit', random.whole(2, 4));
    await world.fleet.died('delivery.webhook', deaths + 1);
    await world.fleet.allReady();
    await until(
      'events on the retry lane',
      () => recordsOn(world.addresses.kafkaBrokers, retryTopic),
      (records) => records > before,
      { timeoutMs: DIVERTED_MS },
    );
    await untilSent(events / 2);
    await setRules([]);
  },
};

async function recordsOn(brokers: string, topic: string): Promise<number> {
  const ends = await endsOf(brokers, [topic]);
  return (ends.get(topic) ?? []).reduce((sum, end) => sum + end, 0);
}
