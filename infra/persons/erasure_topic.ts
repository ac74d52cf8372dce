// Erasures as their topic says: who follows it drops events of persons who were erased.

import { createKafka, type KafkaSession } from '#infra/kafka/client.ts';
import { applyFact, followFacts } from '#infra/kafka/follow_topic.ts';
import { createKeyedProducer } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { RecordSeal } from '#infra/secrets/seal.ts';
import {
  isRoomFor,
  newErasure,
  newSiteErasure,
  SEALED_AS,
  standsFor,
  suppressing,
} from '#pipelines/erasure/erasure.ts';
import type { PersonSubject } from '#pipelines/erasure/subject.ts';
import { createSuppressionList } from '#pipelines/erasure/suppression.ts';
import type { Erasure } from '#schemas/records.ts';

export type FollowedErasures = Awaited<ReturnType<typeof followErasures>>;

/**
 * Follows person.erasures. Resolves when everything written so far is applied. What a newer version wrote is waited for: left out,
 * it would let events of erased persons pass.
 *
 * @param secret By which identifiers are joined.
 */
export async function followErasures(
  session: KafkaSession,
  registry: Registry,
  logger: Logger,
  onFatal: (error: unknown) => void,
  secret: Buffer,
) {
  const codec = await createCodec<Erasure>(registry, TOPICS.erasures, 'erasure');
  const list = createSuppressionList(secret);
  const { all, readNow, isCurrent, stop } = await followFacts<Erasure, Map<string, Erasure>>({
    ...{ session, topic: TOPICS.erasures, codec, logger, onFatal },
    empty: () => new Map(),
    apply: applyFact,
    onApplied: (erasures, key) => list.apply(key, erasures.get(key) ?? null),
  });
  return {
    list,
    codec,
    /** By their ids; kept current. */
    all: all as ReadonlyMap<string, Erasure>,
    /** What the topic holds at this moment, to its very end, by their ids. */
    readNow,
    /** Whether the list is of everything that was written up to now, except what is on its way. */
    isCurrent,
    stop,
  };
}

/** Who asks for an erasure, of what. */
export interface ErasureRequest {
  erasureId: string;
  siteId: string;
  subject: PersonSubject;
  askedBy: string;
  /** Kinds of destinations that may have the data. */
  destinations: string[];
}

/** Who asks for the erasure of a whole site. */
export type SiteErasureRequest = Omit<ErasureRequest, 'subject'> & { accountId: string };

/** It cannot be said whether it was written; asking again finds it where it was. */
class ErasureNotStoredError extends Error {
  readonly code = 'settings_not_stored';
}

export type ErasureRequests = ReturnType<typeof createErasureRequests>;

interface RequestParts {
  session: KafkaSession;
  erasures: Pick<FollowedErasures, 'codec' | 'readNow'>;
  seal: RecordSeal;
  identitySecret: Buffer;
  logger: Logger;
  nowMs(): number;
}

const WRITE_RETRIES = 8;

export function createErasureRequests(parts: RequestParts) {
  const { session, erasures, seal, identitySecret, logger, nowMs } = parts;

  /** Writes an erasure, unless one is under way that is the same; null where there are as many as there may be. */
  async function write(
    siteId: string,
    make: () => Erasure,
    isSame: (one: Erasure) => boolean,
  ): Promise<Erasure | null> {
    const producer = await createKeyedProducer(
      createKafka(session.config, 'svc.control.erasure', logger, WRITE_RETRIES),
    ).catch(notStored);
    try {
      const all = await erasures.readNow();
      const underWay = [...all.values()].find(isSame);
      if (underWay !== undefined) return underWay;
      if (!isRoomFor(siteId, all)) return null;
      const erasure = make();
      const value = erasures.codec.encode(erasure);
      await producer.send([{ topic: TOPICS.erasures, partition: 0, key: erasure.erasure_id, value }]);
      return erasure;
    } catch (error) {
      return notStored(error);
    } finally {
      await producer.stop();
    }
  }

  return {
    /** What stands of an erasure on the topic at this moment. */
    read: async (erasureId: string): Promise<Erasure | undefined> => (await erasures.readNow()).get(erasureId),
    /**
     * Has events of the person dropped from now on, and everything erased soon. Answers the erasure under way that does all of it,
     * where there is one; null where there are as many as there may be. @throws ErasureNotStoredError
     */
    request({ erasureId, siteId, subject, askedBy, destinations }: ErasureRequest): Promise<Erasure | null> {
      const sealed = seal.seal(SEALED_AS, erasureId, JSON.stringify(subject));
      const asked = { erasure_id: erasureId, site_id: siteId, asked_by: askedBy, destinations, sealed };
      const wanted = { site_id: siteId, ...suppressing(identitySecret, siteId, subject, nowMs()) };
      return write(
        siteId,
        () => newErasure(asked, identitySecret, subject, nowMs()),
        (one) => standsFor(one, wanted, nowMs()),
      );
    },
    /** The same of a whole site. @throws ErasureNotStoredError */
    requestSite({ erasureId, siteId, accountId, askedBy, destinations }: SiteErasureRequest): Promise<Erasure | null> {
      const asked = { erasure_id: erasureId, site_id: siteId, account_id: accountId, asked_by: askedBy, destinations };
      return write(
        siteId,
        () => newSiteErasure(asked, nowMs()),
        ({ site_id, site, phase }) => site_id === siteId && Boolean(site) && phase !== 'done',
      );
    },
  };
}

function notStored(error: unknown): never {
  throw new ErasureNotStoredError('the erasure may not have been stored', { cause: error });
}
