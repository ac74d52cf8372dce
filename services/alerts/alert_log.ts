// What a leader knows of alerts and writes down, behind its fence.

import { type AlertChanges, type AlertFacts, applyChanges, type FollowedAlerts } from '#infra/alerts/alert_topic.ts';
import { createMutex } from '#infra/concurrency/gates.ts';
import { failpoint } from '#infra/failpoint.ts';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { openFencedProducer } from '#infra/kafka/producers.ts';
import { isOpen, takenUp } from '#pipelines/alerts/sends.ts';
import type { FiredAlert } from '#schemas/records.ts';

export interface AlertLog {
  now: Readonly<AlertFacts>;
  /** Writes changes, all or none, one after the other; they are made when it is their turn, of what is known by then. */
  write(changesOf: () => AlertChanges): Promise<void>;
  /** Takes over what others have asked for since: tests, which nobody but they write. */
  takeRequests(): void;
  close(): Promise<void>;
}

export type OpenAlertLog = () => Promise<AlertLog>;

/**
 * Opens the log as its one writer: who led before can write nothing any more. What that one had begun to send and wrote no answer
 * of is sent again.
 */
export async function openAlertLog(
  session: KafkaSession,
  topic: Pick<FollowedAlerts, 'all' | 'append' | 'readNow'>,
): Promise<AlertLog> {
  const producer = await openFencedProducer(session.kafka, session.groupOf('alerts.run'));
  const mutex = createMutex();
  try {
    const now = await topic.readNow();
    for (const [name, fired] of now.fired) now.fired.set(name, takenUpAll(fired));
    return {
      now,
      write: (changesOf) =>
        mutex.run(async () => {
          const changes = changesOf();
          await topic.append(producer, changes);
          applyChanges(now, changes);
          failpoint('alerts.step');
        }),
      takeRequests() {
        for (const [name, fired] of topic.all.fired) {
          const isNew = fired.is === 'test' && fired.sends.some(isOpen) && !now.fired.has(name);
          if (isNew) now.fired.set(name, fired);
        }
      },
      close: () => producer.close(),
    };
  } catch (error) {
    await producer.close().catch(() => undefined);
    throw error;
  }
}

const takenUpAll = (fired: FiredAlert): FiredAlert => ({ ...fired, sends: fired.sends.map(takenUp) });
