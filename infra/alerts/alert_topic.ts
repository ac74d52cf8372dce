// What alerts were judged by and what fired, as their topic says.

import { createKafka, type KafkaSession } from '#infra/kafka/client.ts';
import { followFacts } from '#infra/kafka/follow_topic.ts';
import { createKeyedProducer, type FencedProducer } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import type { AlertFact, AlertState, FiredAlert } from '#schemas/records.ts';

/** By SITE/ALERT, and by SITE/ID. */
export interface AlertFacts {
  states: Map<string, AlertState>;
  fired: Map<string, FiredAlert>;
}

export const stateName = ({ site_id, alert_id }: Pick<AlertState, 'site_id' | 'alert_id'>): string =>
  `${site_id}/${alert_id}`;
export const firedName = ({ site_id, fired_id }: Pick<FiredAlert, 'site_id' | 'fired_id'>): string =>
  `${site_id}/${fired_id}`;

/** What is written together: states and firings as they are now, and those that are gone. */
export interface AlertChanges {
  states?: readonly AlertState[];
  fired?: readonly FiredAlert[];
  goneStates?: readonly AlertState[];
  goneFired?: readonly FiredAlert[];
}

/** Takes over what was written. */
export function applyChanges({ states, fired }: AlertFacts, changes: AlertChanges): void {
  for (const state of changes.states ?? []) states.set(stateName(state), state);
  for (const one of changes.fired ?? []) fired.set(firedName(one), one);
  for (const state of changes.goneStates ?? []) states.delete(stateName(state));
  for (const one of changes.goneFired ?? []) fired.delete(firedName(one));
}

/** It cannot be said whether it was written. */
class AlertNotStoredError extends Error {
  readonly code = 'settings_not_stored';
}

function notStored(error: unknown): never {
  throw new AlertNotStoredError('the topic alerts could not be written', { cause: error });
}

const WRITE_RETRIES = 8;

export type FollowedAlerts = Awaited<ReturnType<typeof followAlerts>>;

/** Follows the topic. Resolves when everything written so far is applied. */
export async function followAlerts(
  session: KafkaSession,
  registry: Registry,
  logger: Logger,
  onFatal: (error: unknown) => void,
) {
  const codec = await createCodec<AlertFact>(registry, TOPICS.alerts, 'alert_fact');
  const encode = (fact: Partial<AlertFact>): Buffer => codec.encode({ state: null, fired: null, ...fact });
  const stateRecord = (state: AlertState) => ({ key: `state/${stateName(state)}`, value: encode({ state }) });
  const firedRecord = (fired: FiredAlert) => ({ key: `fired/${firedName(fired)}`, value: encode({ fired }) });

  const { all, readNow, stop } = await followFacts<AlertFact, AlertFacts>({
    ...{ session, topic: TOPICS.alerts, codec, logger, onFatal },
    empty: () => ({ states: new Map(), fired: new Map() }),
    apply({ states, fired }, key, fact) {
      const [kind = '', ...name] = key.split('/');
      const place = name.join('/');
      if (fact === null) (kind === 'state' ? states : fired).delete(place);
      if (fact?.state) states.set(place, fact.state);
      if (fact?.fired) fired.set(place, fact.fired);
    },
  });
  return {
    /** Kept current. */
    all: all as { states: ReadonlyMap<string, AlertState>; fired: ReadonlyMap<string, FiredAlert> },
    readNow,
    /** Writes changes, all or none. */
    append(producer: FencedProducer, changes: AlertChanges): Promise<void> {
      const { states = [], fired = [], goneStates = [], goneFired = [] } = changes;
      return producer.append(TOPICS.alerts, 0, [
        ...states.map(stateRecord),
        ...fired.map(firedRecord),
        ...goneStates.map((state) => ({ key: `state/${stateName(state)}`, value: null })),
        ...goneFired.map((one) => ({ key: `fired/${firedName(one)}`, value: null })),
      ]);
    },
    /** Writes a new record, beside who leads: whoever leads takes it up. @throws AlertNotStoredError */
    async request(fired: FiredAlert): Promise<void> {
      const producer = await createKeyedProducer(
        createKafka(session.config, 'svc.control.alerts', logger, WRITE_RETRIES),
      ).catch(notStored);
      try {
        await producer.send([{ topic: TOPICS.alerts, partition: 0, ...firedRecord(fired) }]);
      } catch (error) {
        notStored(error);
      } finally {
        await producer.stop();
      }
    },
    stop,
  };
}
