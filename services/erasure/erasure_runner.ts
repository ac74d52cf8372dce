// Carries out erasures, on one leader at a time: what is under way goes on where it was, whoever was killed.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ErasedSubject, PersonEraser } from '#infra/clickhouse/erase_persons.ts';
import { failpoint } from '#infra/failpoint.ts';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { topicOffsets } from '#infra/kafka/offsets.ts';
import { type FencedProducer, openFencedProducer, type PartitionRecords } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import type { FollowedErasures } from '#infra/persons/erasure_topic.ts';
import type { FoundLink, PersonData } from '#infra/persons/person_data.ts';
import { hasPassed, type TopicEnds } from '#infra/redelivery/replay_topics.ts';
import type { PersonIndexEraser } from '#infra/redis/indexes/erase_persons.ts';
import type { RecordSeal } from '#infra/secrets/seal.ts';
import {
  finished,
  inPhase,
  KNOWN_EVERYWHERE_MS,
  keptOf,
  nextBatch,
  SEALED_AS,
  suppressing,
  withErased,
} from '#pipelines/erasure/erasure.ts';
import { type PersonSubject, sizeOf, together } from '#pipelines/erasure/subject.ts';
import type { Erasure } from '#schemas/records.ts';
import { isOfNode } from '#schemas/records.ts';
import { joinLeaderElection } from '#services/stage/leader_election.ts';

export interface ErasureParts {
  session: KafkaSession;
  erasures: Pick<FollowedErasures, 'all' | 'codec' | 'readNow'>;
  seal: RecordSeal;
  data: Pick<PersonData, 'resolve' | 'links'>;
  index: PersonIndexEraser;
  rows: PersonEraser;
  identitySecret: Buffer;
  logger: Logger;
  nowMs(): number;
}

const POLL_MS = 500;
/** After a failure; most are of a part that is away. */
const RETRY_MS = 3_000;

/** What has to be done with a topic, before rows are deleted that come of it. */
const READERS = [
  ['identity', TOPICS.unique],
  ['identity', TOPICS.redeliverIdentity],
  ['warehouse', TOPICS.identified],
  ['warehouse', TOPICS.redeliverWarehouse],
  ['warehouse', TOPICS.links],
  ['warehouse', TOPICS.outcomes],
  ['warehouse', TOPICS.duplicates],
] as const;

/** What is sealed of an erasure cannot be opened. */
class ErasureSealedError extends Error {
  readonly code = 'erasure_sealed';
}

/** Runs until it is stopped. Of several processes the one leads whom the group gives the topic's only partition. */
export async function runErasures(
  parts: ErasureParts,
  onFatal: (error: unknown) => void,
): Promise<() => Promise<void>> {
  const { session, erasures, logger, nowMs } = parts;
  let isStopping = false;
  const election = await joinLeaderElection({ session, logger, fatal: onFatal }, 'erasure', TOPICS.erasures);
  const leads = (): boolean => !isStopping && election.isLeader();
  const isDue = (): boolean => [...erasures.all.values()].some((one) => isOpen(one) || keptOf(one, nowMs()) !== one);

  async function work(): Promise<void> {
    while (!isStopping) {
      let pauseMs = POLL_MS;
      if (leads() && isDue()) {
        try {
          await carryOn(parts, leads);
        } catch (error) {
          logger.warn({ err: error }, 'erasure interrupted, trying again');
          pauseMs = RETRY_MS;
        }
      }
      await sleep(pauseMs);
    }
  }

  const working = work();
  working.catch(onFatal);
  return async () => {
    isStopping = true;
    await working;
    await election.stop();
  };
}

/** Carries on with what there is, until there is nothing more or another one leads. */
async function carryOn(parts: ErasureParts, leads: () => boolean): Promise<void> {
  const { session, erasures, nowMs } = parts;
  const producer = await openFencedProducer(session.kafka, session.groupOf('erasure.run'));
  try {
    // Behind the fence nobody else writes but requests, which are new ones.
    const now = await erasures.readNow();
    const log: ErasureLog = { now, producer, codec: erasures.codec };
    await expire(log, nowMs());
    await setAside(parts, log);
    const batch = nextBatch([...now.values()].filter(isOpen));
    const [first] = batch;
    if (first === undefined) return;
    await save(log, batch);
    await carryOut(parts, log, first.batch, leads);
  } finally {
    await producer.close();
  }
}

/** What an erasure says whose seal cannot be opened, as its key is gone from the ring: nobody can carry it out. */
const UNOPENED = 'secret_key_unknown';

const isOpen = ({ phase, detail }: Erasure): boolean => phase !== 'done' && detail !== UNOPENED;

/** Leaves out what cannot be opened, so that the others are carried out. */
async function setAside({ seal, logger, nowMs }: ErasureParts, log: ErasureLog): Promise<void> {
  for (const erasure of [...log.now.values()].filter(isOpen)) {
    const { erasure_id, sealed } = erasure;
    if (sealed !== null && seal.open(SEALED_AS, erasure_id, sealed) !== null) continue;
    logger.error(
      { erasure: erasure_id },
      'erasure cannot be carried out: SECRETS_KEYS lacks its key; ask for it again',
    );
    await save(log, [inPhase(erasure, erasure.phase, UNOPENED, nowMs())]);
  }
}

/** What is known of all erasures, in memory and on the topic. */
interface ErasureLog {
  now: Map<string, Erasure>;
  producer: FencedProducer;
  codec: FollowedErasures['codec'];
}

/** Changes erasures and writes them down, with other records, all or none. */
async function save(
  { now, producer, codec }: ErasureLog,
  changed: readonly Erasure[],
  others: readonly PartitionRecords[] = [],
): Promise<void> {
  const records = changed.map((erasure) => ({ key: erasure.erasure_id, value: codec.encode(erasure) }));
  await producer.appendAll([...others, [TOPICS.erasures, 0, records]]);
  for (const erasure of changed) now.set(erasure.erasure_id, erasure);
  failpoint('erasure.step');
}

async function expire(log: ErasureLog, nowMs: number): Promise<void> {
  for (const erasure of [...log.now.values()]) {
    const kept = keptOf(erasure, nowMs);
    if (kept === erasure) continue;
    if (kept !== null) await save(log, [kept]);
    else {
      await log.producer.append(TOPICS.erasures, 0, [{ key: erasure.erasure_id, value: null }]);
      log.now.delete(erasure.erasure_id);
    }
  }
}

/** A batch, and the persons that it is about. */
interface Work {
  parts: ErasureParts;
  log: ErasureLog;
  /** As it is by now. */
  batch(): Erasure[];
  leads(): boolean;
}

async function carryOut(parts: ErasureParts, log: ErasureLog, id: string, leads: () => boolean): Promise<void> {
  const batch = (): Erasure[] => [...log.now.values()].filter((one) => one.batch === id && one.phase !== 'done');
  const work: Work = { parts, log, batch, leads };
  while (leads()) {
    const [first] = batch();
    if (first === undefined) return;
    if (first.phase === 'suppressing') await suppress(work);
    else if (first.phase === 'draining') await drain(work);
    else await deleteRows(work);
  }
}

/**
 * Erases the person from the identity graph at once, so that whoever comes back meanwhile joins nobody; and once more when every
 * process drops their events, as until then what was under way may have taught it again.
 */
async function suppress(work: Work): Promise<void> {
  const { parts, log, batch } = work;
  const { nowMs } = parts;
  const isSecond = batch().every(({ detail }) => detail === 'waiting');
  if (isSecond) {
    const sinceMs = Math.max(...batch().map(({ suppressed_at: atMs }) => atMs));
    const waitMs = sinceMs + KNOWN_EVERYWHERE_MS - nowMs();
    if (waitMs > 0) return sleep(Math.min(waitMs, POLL_MS));
  }
  if (await grow(work)) return;
  if (!(await eraseIndex(work))) return;
  const detail = isSecond ? '' : 'waiting';
  await save(
    log,
    batch().map((one) => inPhase(one, isSecond ? 'draining' : 'suppressing', detail, nowMs())),
  );
}

/** Looks for more that is known to be theirs, and suppresses that too; false where there was none, and nothing is left to look for. */
async function grow({ parts, log, batch, leads }: Work): Promise<boolean> {
  const grown: Erasure[] = [];
  for (const erasure of batch()) {
    if (!leads()) return true;
    const subject = opened(parts, erasure);
    const found = await parts.data.resolve(erasure.site_id, subject);
    if (sizeOf(found) > sizeOf(subject)) grown.push(regrown(parts, erasure, found));
  }
  if (grown.length > 0) await save(log, grown);
  return grown.length > 0;
}

/** An erasure of more than it was of before; every process has to hear of it first. */
function regrown({ seal, identitySecret, nowMs }: ErasureParts, erasure: Erasure, subject: PersonSubject): Erasure {
  const { erasure_id, site_id } = erasure;
  return {
    ...inPhase(erasure, 'suppressing', '', nowMs()),
    ...suppressing(identitySecret, site_id, subject, nowMs()),
    sealed: seal.seal(SEALED_AS, erasure_id, JSON.stringify(subject)),
  };
}

function opened({ seal }: ErasureParts, { erasure_id, sealed }: Erasure): PersonSubject {
  const text = sealed === null ? null : seal.open(SEALED_AS, erasure_id, sealed);
  if (text === null) throw new ErasureSealedError('what is to be erased cannot be opened');
  return JSON.parse(text) as PersonSubject;
}

/** Erases them from Redis and identity.links; false where they have become one with others, who are theirs then. */
async function eraseIndex({ parts, log, batch }: Work): Promise<boolean> {
  const subjects = new Map(batch().map((erasure) => [erasure, opened(parts, erasure)]));
  const persons = new Map<string, Set<string>>();
  for (const [{ site_id }, subject] of subjects) {
    persons.set(site_id, new Set([...(persons.get(site_id) ?? []), ...subject.persons]));
  }
  const links = await parts.data.links(persons);
  const erased: Erasure[] = [];
  for (const [erasure, subject] of subjects) {
    const own = linksOf(links, erasure.site_id, subject);
    const nodes = own.flatMap(({ link }) => (isOfNode(link) ? [link.target] : []));
    const all = [...new Set([...nodes, ...subject.identifiers.map(({ node }) => node)])];
    const outcome = await parts.index.erase(erasure.site_id, subject.persons, all);
    if (!outcome.ok) {
      const others = { persons: outcome.others, identifiers: [] };
      await save(log, [regrown(parts, erasure, together(subject, others))]);
      return false;
    }
    const found = [
      { place: 'redis', count: outcome.keys },
      { place: TOPICS.links, count: own.length },
    ];
    erased.push(withErased(erasure, found));
  }
  const byPartition = Map.groupBy(links, ({ partition }) => partition);
  const tombstones = [...byPartition].map(
    ([partition, ones]): PartitionRecords => [TOPICS.links, partition, ones.map(({ key }) => ({ key, value: null }))],
  );
  await save(log, erased, tombstones);
  return true;
}

function linksOf(links: readonly FoundLink[], siteId: string, { persons }: PersonSubject): FoundLink[] {
  const own = new Set(persons);
  return links.filter(({ link }) => link.site_id === siteId && (own.has(link.person_id) || own.has(link.target)));
}

/** Waits a moment, and writes down what for where that is not known yet. */
async function waitFor({ parts, log, batch }: Work, phase: Erasure['phase'], detail: string): Promise<void> {
  const others = batch().filter((one) => one.detail !== detail);
  const waiting = others.map((one) => inPhase(one, phase, detail, parts.nowMs()));
  if (waiting.length > 0) await save(log, waiting);
  await sleep(POLL_MS);
}

/** Waits until what was under way before every process dropped their events has come to the tables. */
async function drain(work: Work): Promise<void> {
  const { parts, log, batch, leads } = work;
  const { session, nowMs } = parts;
  const marks: [group: string, topic: string, ends: TopicEnds][] = [];
  for (const [group, topic] of READERS) {
    marks.push([session.groupOf(group), topic, await topicOffsets(session.admin, topic)]);
  }
  for (const [group, topic, ends] of marks) {
    while (!(await hasPassed(session, group, topic, ends))) {
      if (!leads()) return;
      await waitFor(work, 'draining', topic);
    }
  }
  await save(
    log,
    batch().map((one) => inPhase(one, 'deleting', '', nowMs())),
  );
}

/**
 * Deletes their rows, those of event_rows last, as all else is found by them. Where rows have come after that, it all begins once
 * more.
 */
async function deleteRows(work: Work): Promise<void> {
  const { parts, log, batch } = work;
  const { rows, nowMs, logger } = parts;
  const subjects = batch().flatMap((erasure) => subjectsOf(erasure, opened(parts, erasure)));
  await rows.begin(subjects);
  const found = await rows.count();
  const ofErasure = (id: string) => found.filter(({ erasure_id }) => erasure_id === id);
  await save(
    log,
    batch().map((one) => withErased(inPhase(one, 'deleting', 'rows', nowMs()), ofErasure(one.erasure_id))),
  );
  failpoint('erasure.step');
  await rows.deleteBesides();
  if (!(await areDeleted(work))) return;
  failpoint('erasure.step');
  await rows.deleteEvents();
  if (!(await areDeleted(work))) return;
  failpoint('erasure.step');
  await rows.begin(subjects);
  const late = (await rows.count()).some(({ place, count }) => place === 'event_rows' && count > 0);
  if (late) {
    const again = (one: Erasure): Erasure => ({ ...inPhase(one, 'suppressing', '', nowMs()), round: one.round + 1 });
    return save(log, batch().map(again));
  }
  await rows.end();
  const done = batch().map((one) => finished(one, nowMs()));
  await save(log, done);
  for (const { erasure_id, site_id, erased } of done) {
    const counts = Object.fromEntries(erased.map(({ place, count }) => [place, count]));
    logger.info({ erasure: erasure_id, site: site_id, ...counts }, 'person erased');
  }
}

function subjectsOf(
  { erasure_id, site_id, asked_at }: Erasure,
  { persons, identifiers }: PersonSubject,
): ErasedSubject[] {
  const shared = { erasure_id, site_id, until: asked_at };
  return [
    ...persons.map((value): ErasedSubject => ({ ...shared, kind: 'person', value })),
    ...identifiers.map(({ kind, value }): ErasedSubject => ({ ...shared, kind, value })),
  ];
}

/** Waits until nothing is deleted any more; false where another one leads. */
async function areDeleted(work: Work): Promise<boolean> {
  const { parts, leads } = work;
  for (;;) {
    const running = await parts.rows.underWay();
    if (running.size === 0) return true;
    if (!leads()) return false;
    const detail = [...running.values()].includes('fails') ? 'mutation_fails' : 'rows';
    await waitFor(work, 'deleting', detail);
  }
}
