import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { retryTopicName } from '#pipelines/delivery/retry_topics.ts';
import { openSettings } from '#test/harness/settings.ts';
import { until } from '#test/harness/until.ts';
import { deliveriesOf } from '../oracle/deliveries.ts';
import { endsOf } from '../oracle/topics.ts';
import type { Row, RowContext } from '../row.ts';
import type { FaultSite } from '../world/site.ts';

const DIVERTED_MS = 60_000;
const HEALED_MS = 180_000;
/** A delivery process learns of a change within milliseconds; this is longer than any that was seen. */
const KNOWN_MS = 1_500;

/**
 * A destination answers 503 while events flow, and its delivery process dies right behind a commit by which events went
 * to a retry lane. When the destination is well again all are delivered from the lanes.
 */
export const DESTINATION_OUTAGE: Row = {
  name: 'destination_outage',
  resends: true,
  requestsPerSecond: 20,
  fault: (context) => outageOf(context.site.scopes.webhook, context),
};

const CRM = 'webhook-crm';
const scopeOfCrm = ({ site }: Pick<FaultSite, 'site'>): string => `/${site}-crm`;

/** The same of a site's second webhook: it gets each event too, and the first is as if nothing were. */
export const SECOND_DESTINATION_OUTAGE: Row = {
  name: 'destination_outage.of_second',
  resends: true,
  requestsPerSecond: 20,
  async before({ world, site }) {
    const { run } = await openSettings(world);
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const url = `${world.standins.webhook}${scopeOfCrm(site)}`;
    const words = ['--site', site.site, '--set', `url=${url}`, '--secret', `secret=${secret}`];
    await run('destination', 'create', CRM, ...words);
    await sleep(KNOWN_MS);
  },
  fault: (context) => outageOf(scopeOfCrm(context.site), context),
  async after({ world, site, ledger }) {
    const accepted = ledger.ids('accepted');
    const left = async (): Promise<number> => {
      const { entries } = await deliveriesOf(world.standins.webhook, scopeOfCrm(site));
      const delivered = new Set(entries.map(({ event_id }) => event_id));
      return [...accepted].filter((id) => !delivered.has(id)).length;
    };
    await until('everything at the second', left, (count) => count === 0, { timeoutMs: HEALED_MS, everyMs: 500 });
  },
};

async function outageOf(scope: string, { world, random, untilSent, events }: RowContext): Promise<void> {
  const setRules = async (rules: object[]): Promise<void> => {
    const body = JSON.stringify({ rules });
    const response = await fetch(`${world.standins.webhook}/_standin/script`, { method: 'POST', body });
    if (!response.ok) throw new Error(`the stand-in refused a script: ${response.status}`);
  };
  await untilSent(events / 4);
  await setRules([{ fault: { kind: 'status', status: 503 }, scope }]);
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
}

async function recordsOn(brokers: string, topic: string): Promise<number> {
  const ends = await endsOf(brokers, [topic]);
  return (ends.get(topic) ?? []).reduce((sum, end) => sum + end, 0);
}
