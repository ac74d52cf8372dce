import { createKafka, type KafkaSession } from '#infra/kafka/client.ts';
import { createKeyedProducer } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
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
import type { Erasure } from '#schemas/records.ts';
import type { FollowedErasures } from './erasure_topic.ts';

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
