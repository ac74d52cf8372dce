import { type IdentityConfig, identityConfig } from '#infra/config/stage_config.ts';
import { FOLLOWING } from '#infra/kafka/consumer/consume_options.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createBatchReader, createCodec } from '#infra/registry/codec.ts';
import type { Identified } from '#pipelines/identity/identify.ts';
import type { IdentityLink } from '#schemas/identity_link.ts';
import { runEventStage, type StageEvent } from '#services/event_stage.ts';
import { identifiedEvents, linkRecords, withoutPersons } from './events.ts';
import { openPersons } from './persons.ts';

/** events.unique -> events.identified: attaches who the event belongs to and what is known of them. */
runEventStage<IdentityConfig, StageEvent, Identified>('identity', identityConfig, async (runtime, config) => {
  const { registry, metrics, session } = runtime;
  const reader = await createBatchReader(registry, TOPICS.identified);
  const links = await createCodec<IdentityLink>(registry, TOPICS.links, 'identity_link');
  const persons = await openPersons(runtime, config, reader, links);
  const capped = metrics.counter('svc_identity_capped_total', 'Identifiers not followed at the cap of persons', []);
  return {
    reads: [TOPICS.unique, TOPICS.againIdentity],
    reader,
    batching: FOLLOWING,
    eventsOf: withoutPersons,
    decide: persons.identify,
    write: (decisions) => [
      ...identifiedEvents(decisions, reader.schemaId, session.config.eventPartitions),
      ...linkRecords(decisions, links),
    ],
    count: (decisions) => ({ passed: decisions.reduce((sum, { entries }) => sum + entries.length, 0) }),
    committed: (decisions) => capped.inc(decisions.reduce((sum, decision) => sum + decision.capped, 0)),
  };
});
