import type { StageItem } from '#services/control_api/operations.ts';
import { span } from '../../format.ts';
import type { BadgeKind } from '../../ui/badge.tsx';

const WHAT: Readonly<Record<string, string>> = {
  dedup: 'Drops repetitions',
  quota: 'Counts the allowance',
  identity: 'Finds out who a visitor is',
  warehouse: 'Writes to ClickHouse',
};

/** What a stage does, for people. */
export const purposeOf = (stage: string): string =>
  WHAT[stage] ?? (stage.startsWith('delivery.') ? 'Sends to the destination' : '');

/** A stage that is so much behind is late. */
const LATE_MS = 60_000;

/** How a stage does, in a word, and why. */
export function stageState({ consumers, lag, waits_longer_than_ms: waitsMs }: StageItem): {
  label: string;
  badge: BadgeKind;
} {
  if (consumers === 0) return { label: 'Not running', badge: 'bad' };
  if (lag === null) return { label: 'Nothing taken yet', badge: 'plain' };
  if (waitsMs !== null && waitsMs >= LATE_MS) return { label: 'Behind', badge: 'warn' };
  return { label: 'Keeps up', badge: 'good' };
}

/** How long the oldest record waits, short enough for a column. */
export const waitText = ({ lag, waits_longer_than_ms: waitsMs }: StageItem): string => {
  if (waitsMs !== null) return `> ${span(waitsMs)}`;
  return lag === null || lag === 0 ? '–' : '< 10 s';
};
