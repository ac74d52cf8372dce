import type { OutRecord } from '#infra/kafka/record.ts';
import { SMALL_PARTITIONS, TOPICS } from '#infra/kafka/topics.ts';
import type { Codec } from '#infra/registry/codec.ts';
import type { Identified } from '#pipelines/identity/identify.ts';
import { memoize } from '#pipelines/memoize.ts';
import { encodePerson } from '#schemas/event_batch.ts';
import { type IdentityLink, linkKey } from '#schemas/identity_link.ts';
import { partitionOf, personPartition } from '#schemas/partition.ts';
import { packBatches, type ReadRecord } from '#services/batches.ts';
import type { StageEvent } from '#services/event_stage.ts';

/** The events of a record of events.unique, with the coordinates that dedup gave them. */
export function uniqueEvents({ views }: ReadRecord): StageEvent[] {
  return views.map((view) => ({ view, coordinate: view.coordinate }));
}

/** The events with their persons, as records of events.identified on the persons' partitions. */
export function identifiedEvents(decisions: readonly Identified[], schemaId: number, partitions: number): OutRecord[] {
  const bytesOf = memoize(encodePerson);
  const partitionIn = memoize((siteId: string) =>
    memoize((personId: string) => personPartition(siteId, personId, partitions)),
  );
  const entries = decisions.flatMap((decision) => decision.entries);
  return packBatches(
    TOPICS.identified,
    schemaId,
    entries.map(({ view, coordinate, person }) => ({
      partition: partitionIn(view.siteId)(person.person_id),
      coordinate,
      personBytes: bytesOf(person),
      eventBytes: view.eventBytes,
    })),
  );
}

/** What was learned of who is whom, as records of identity.links. */
export function linkRecords(decisions: readonly Identified[], codec: Codec<IdentityLink>): OutRecord[] {
  return decisions
    .flatMap((decision) => decision.links)
    .map((link) => {
      const key = linkKey(link);
      return { topic: TOPICS.links, partition: partitionOf(key, SMALL_PARTITIONS), key, value: codec.encode(link) };
    });
}
