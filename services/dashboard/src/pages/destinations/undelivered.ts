import type { HealthItem } from '#services/control_api/destinations.ts';
import { events } from '../../format.ts';

/** What becomes of events that were not delivered; nothing where there are none. */
export function undeliveredSentences(health: Pick<HealthItem, 'state' | 'waiting' | 'failed'>): string[] {
  const { state, waiting, failed } = health;
  const then = state === 'waits_for_settings' ? 'sent after that' : 'retried';
  return [
    ...(waiting > 0
      ? [`${events(waiting)} ${waiting === 1 ? 'is' : 'are'} waiting, to be ${then} automatically.`]
      : []),
    ...(failed > 0 ? [`${events(failed)} failed permanently: replay them once the cause is fixed.`] : []),
  ];
}
