// How far erasures are, as their topic has it: what it takes to carry them on, and to write down each step.

import { setTimeout as sleep } from 'node:timers/promises';
import type { PersonEraser, SiteEraser } from '#infra/clickhouse/erasure/erase_rows.ts';
import type { RestoredPersons } from '#infra/clickhouse/erasure/restored_persons.ts';
import type { UnseenPersons } from '#infra/clickhouse/erasure/unseen_persons.ts';
import { failpoint } from '#infra/failpoint.ts';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import type { FencedProducer, PartitionRecords } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { FollowedErasures } from '#infra/persons/erasure_topic.ts';
import type { LinkPlace, PersonData } from '#infra/persons/person_data.ts';
import { hasPassed, type TopicEnds } from '#infra/redelivery/replay_topics.ts';
import type { PersonIndexEraser, SiteKeyEraser } from '#infra/redis/indexes/erase_persons.ts';
import type { IdentityIndex } from '#infra/redis/indexes/identity_index.ts';
import type { RecordSeal } from '#infra/secrets/seal.ts';
import type { Adapter } from '#pipelines/delivery/contract.ts';
import { inPhase } from '#pipelines/erasure/erasure.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Erasure } from '#schemas/records.ts';
import type { NoticeSender } from './notices.ts';

export interface ErasureParts {
  session: KafkaSession;
  erasures: Pick<FollowedErasures, 'all' | 'codec' | 'readNow'>;
  settings: Pick<SettingsTable, 'destination' | 'destinationsOfKind' | 'site' | 'sites'>;
  adapters: readonly Adapter[];
  seal: RecordSeal;
  data: Pick<PersonData, 'resolve' | 'links' | 'linksOfSite'>;
  index: PersonIndexEraser;
  siteKeys: SiteKeyEraser;
  rows: PersonEraser;
  siteRows: SiteEraser;
  /** Who erasures of a site are about that are carried out once more, by their ids; of whom there are no rows it has none. */
  restored: RestoredPersons;
  unseen: UnseenPersons;
  persons: Pick<IdentityIndex, 'groupsOf'>;
  notices: NoticeSender;
  identitySecret: Buffer;
  /** Of the day in UTC, after which persons are looked for whom their sites keep no longer. */
  sweepHour: number;
  /** For how long a site that says nothing keeps events; 0: for ever. */
  eventDays: number;
  logger: Logger;
  nowMs(): number;
}

export const POLL_MS = 500;

/** What is known of all erasures, in memory and on the topic. */
export interface ErasureLog {
  now: Map<string, Erasure>;
  producer: FencedProducer;
  codec: FollowedErasures['codec'];
}

/** Changes erasures and writes them down, with other records, all or none. */
export async function save(
  { now, producer, codec }: ErasureLog,
  changed: readonly Erasure[],
  others: readonly PartitionRecords[] = [],
): Promise<void> {
  const records = changed.map((erasure) => ({ key: erasure.erasure_id, value: codec.encode(erasure) }));
  await producer.appendAll([...others, [TOPICS.erasures, 0, records]]);
  for (const erasure of changed) now.set(erasure.erasure_id, erasure);
  failpoint('erasure.step');
}

/** What removes links from their topic. */
export function tombstonesOf(links: readonly LinkPlace[]): PartitionRecords[] {
  const byPartition = Map.groupBy(links, ({ partition }) => partition);
  return [...byPartition].map(([partition, ones]) => [
    TOPICS.links,
    partition,
    ones.map(({ key }) => ({ key, value: null })),
  ]);
}

/** Erasures that are carried out together: persons, or one site. */
export interface Work {
  parts: ErasureParts;
  log: ErasureLog;
  /** As it is by now. */
  batch(): Erasure[];
  leads(): boolean;
}

/** Waits a moment, and writes down what for where that is not known yet. */
export async function waitFor({ parts, log, batch }: Work, phase: Erasure['phase'], detail: string): Promise<void> {
  const others = batch().filter((one) => one.detail !== detail);
  const waiting = others.map((one) => inPhase(one, phase, detail, parts.nowMs()));
  if (waiting.length > 0) await save(log, waiting);
  await parts.notices.sendDue(log);
  await sleep(POLL_MS);
}

/** What has to be done with a topic, before rows are deleted that come of it. */
const READERS = [
  ['identity', TOPICS.unique],
  ['identity', TOPICS.redeliverIdentity],
  ['warehouse', TOPICS.identified],
  ['warehouse', TOPICS.redeliverWarehouse],
  ['warehouse', TOPICS.links],
  ['warehouse', TOPICS.outcomes],
  ['warehouse', TOPICS.duplicates],
  ['warehouse', TOPICS.inventory],
] as const;

type Readers = readonly (readonly [stage: string, topic: string])[];

/** Waits until stages have passed all that their topics have by now; false where another one leads. */
export async function havePassed(work: Work, readers: Readers, phase: Erasure['phase']): Promise<boolean> {
  const { session } = work.parts;
  const marks: [group: string, topic: string, ends: TopicEnds][] = [];
  for (const [stage, topic] of readers) {
    marks.push([session.groupOf(stage), topic, await topicOffsets(session.admin, topic)]);
  }
  for (const [group, topic, ends] of marks) {
    while (!(await hasPassed(session, group, topic, ends))) {
      if (!work.leads()) return false;
      await waitFor(work, phase, topic);
    }
  }
  return true;
}

/** Waits until what was under way before every process dropped the events has come to the tables. */
export async function drain(work: Work): Promise<void> {
  if (!(await havePassed(work, READERS, 'draining'))) return;
  const { parts, log, batch } = work;
  await save(
    log,
    batch().map((one) => inPhase(one, 'deleting', '', parts.nowMs())),
  );
}

/**
 * Waits until nothing is deleted any more; false where another one leads.
 *
 * @param wait Until it is looked again, told whether a deletion fails; left out: as of an erasure, whose detail says so.
 */
export async function areDeleted(
  work: Work,
  underWay: () => Promise<Map<string, 'runs' | 'fails'>>,
  wait = (fails: boolean): Promise<void> => waitFor(work, 'deleting', fails ? 'mutation_fails' : 'rows'),
): Promise<boolean> {
  for (;;) {
    const running = await underWay();
    if (running.size === 0) return true;
    if (!work.leads()) return false;
    await wait([...running.values()].includes('fails'));
  }
}
