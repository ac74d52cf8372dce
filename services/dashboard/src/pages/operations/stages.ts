import type { StageItem } from '#services/control_api/operations.ts';
import type { DeadLetterItem } from '#services/control_api/redelivery.ts';
import { type ApiResult, listAll } from '../../api/request.ts';
import { number, span } from '../../format.ts';
import type { StateLook } from '../../ui/panel.tsx';

const WHAT: Readonly<Record<string, string>> = {
  dedup: 'Drops duplicates',
  quota: 'Counts usage',
  identity: 'Resolves persons',
  warehouse: 'Writes to ClickHouse',
};

export const purposeOf = (stage: string): string =>
  WHAT[stage] ?? (stage.startsWith('delivery.') ? 'Sends to the destination' : '');

const LATE_MS = 60_000;

export function stageState({ consumers, lag, waits_longer_than_ms: waitsMs }: StageItem): StateLook {
  if (consumers === 0) return { label: 'Not running', badge: 'bad' };
  if (lag === null) return { label: 'No data yet', badge: 'plain' };
  if (waitsMs !== null && waitsMs >= LATE_MS) return { label: 'Behind', badge: 'warn' };
  return { label: 'Up to date', badge: 'good' };
}

export const waitText = ({ lag, waits_longer_than_ms: waitsMs }: StageItem): string => {
  if (waitsMs !== null) return `> ${span(waitsMs)}`;
  return lag === null || lag === 0 ? '–' : '< 10 s';
};

/** How much died in a stage; `more`: at least. */
export interface Died {
  count: number;
  more: boolean;
}

const STAGES = ['dedup', 'quota', 'identity', 'warehouse', 'delivery'] as const satisfies DeadLetterItem['stage'][];
const LETTERS_MAX = 1_000;

/**
 * What died since a moment, by stage, and of deliveries by destination, as `delivery.meta`. Each stage is asked for by
 * itself: pages come stage by stage, so that many letters of one would leave those of the next out.
 */
export async function diedSince(
  sinceMs: number,
  signal: AbortSignal,
): Promise<ApiResult<Readonly<Record<string, Died>>>> {
  const died: Record<string, Died> = {};
  for (const stage of STAGES) {
    const query = { since: sinceMs, stage };
    const answer = await listAll<DeadLetterItem>('/v1/admin/dead-letters', query, LETTERS_MAX, signal);
    if (!answer.ok) return answer;
    const { items, more } = answer.value;
    // A destination whose letters were not reached may have some all the same.
    if (stage !== 'delivery') died[stage] = { count: items.length, more };
    else for (const [name, deadLetters] of byDestination(items)) died[name] = { count: deadLetters.length, more };
  }
  return { ok: true, value: died, version: null };
}

const byDestination = (deadLetters: readonly DeadLetterItem[]): Map<string, DeadLetterItem[]> =>
  Map.groupBy(deadLetters, ({ destination }) => `delivery.${destination ?? ''}`);

export const diedText = ({ count, more }: Died): string => (more ? `${number(count)} or more` : number(count));

/** Open letters that hold events of a site; null: of those that cannot be read. */
export interface SiteDeadLetters {
  siteId: string | null;
  count: number;
  stages: string[];
}

/** How many letters each site has, the most first; one of several sites counts for each. */
export function openBySite(deadLetters: readonly DeadLetterItem[]): SiteDeadLetters[] {
  const all = deadLetters.flatMap(({ site_ids, stage }) =>
    (site_ids.length === 0 ? [null] : site_ids).map((siteId) => ({ siteId, stage })),
  );
  return [...Map.groupBy(all, ({ siteId }) => siteId)]
    .map(([siteId, ones]) => ({ siteId, count: ones.length, stages: [...new Set(ones.map(({ stage }) => stage))] }))
    .sort((a, b) => b.count - a.count);
}
