import { type IdentityConfig, identityConfig } from '#infra/config/stage_config.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createCodec, createEventBatchReader } from '#infra/registry/codec.ts';
import type { Identified } from '#pipelines/identity/identify.ts';
import type { IdentityLink } from '#schemas/identity_link.ts';
import { runEventStage, type StageEvent } from '#services/event_stage.ts';
import { identifiedEvents, linkRecords, uniqueEvents } from './events.ts';
import { openPersons } from './persons.ts';

/** A little less than dedup's, so that what each transaction of dedup brings is taken at once. */
const LINGER_MS = 200;

/**
 * Reads `events.unique` and `again.identity`, joins persons in Redis, then commits one Kafka transaction with each event and
 * its person on `events.identified`, new links on `identity.links`, and the offset; a record that cannot be read goes to
 * `dead.identity` in the same transaction.
 */
runEventStage<IdentityConfig, StageEvent, Identified>('identity', identityConfig, async (runtime, config) => {
  const { registry, metrics, session } = runtime;
  // Reads event batches of any topic, and has the schema id under which those of events.identified are written.
  const reader = await createEventBatchReader(registry, TOPICS.identified);
  const links = await createCodec<IdentityLink>(registry, TOPICS.links, 'identity_link');
  const persons = await openPersons(runtime, config, reader, links);
  const capped = metrics.counter(
    'svc_identity_capped_total',
    'Identifiers left unjoined: at the cap on distinct ids of a person, or where a distinct id is another user’s',
    [],
  );
  return {
    reads: [TOPICS.unique, TOPICS.againIdentity],
    reader,
    lingerMs: LINGER_MS,
    eventsOf: uniqueEvents,
    decide: persons.identify,
    write: (decisions) => [
      ...identifiedEvents(decisions, reader.schemaId, session.config.eventPartitions),
      ...linkRecords(decisions, links),
    ],
    count: (decisions) => ({ passed: decisions.reduce((sum, { entries }) => sum + entries.length, 0) }),
    committed: (decisions) => capped.inc(decisions.reduce((sum, decision) => sum + decision.capped, 0)),
  };
});
