import { REFUSAL_KINDS, type RefusalKind } from '#pipelines/ingestion_warnings/warnings.ts';
import type { RefusalsItem } from '#services/control_api/operations.ts';
import type { Series } from '../../charts/series.ts';
import { dayIn, dayStart } from '../../zoned_days.ts';
import { KINDS } from './reason_texts.ts';

const HOUR_MS = 3_600_000;
/** Longest time that is kept, and so drawn. */
const KEPT_MS = 7 * 24 * HOUR_MS;

export interface RefusalChart {
  starts: number[];
  interval: 'hour' | 'day';
  series: Series[];
}

/** What of a period is kept: it ends now at the latest, and begins no longer ago than is kept. */
export function keptPart({ from, to }: { from: number; to: number }, nowMs: number): { from: number; to: number } {
  return { from: Math.max(from, nowMs - KEPT_MS), to };
}

/** A line for each kind, by hour where that is asked for, else by day of a zone, which hours of the answer are summed to. */
export function refusalChart(
  { counts, from, to }: Pick<RefusalsItem, 'counts' | 'from' | 'to'>,
  interval: 'hour' | 'day',
  timeZone: string,
): RefusalChart {
  const startOf = interval === 'hour' ? hourStart : (ms: number) => startOfDay(timeZone, ms);
  const starts: number[] = [];
  for (let at = Math.floor(from / HOUR_MS) * HOUR_MS; at < to; at += HOUR_MS) {
    const start = startOf(at);
    if (starts.at(-1) !== start) starts.push(start);
  }
  const places = new Map(starts.map((start, place) => [start, place]));
  const values = new Map<RefusalKind, number[]>(REFUSAL_KINDS.map((kind) => [kind, starts.map(() => 0)]));
  for (const { at, kind, count } of counts) {
    const place = places.get(startOf(at));
    const line = values.get(kind);
    if (place !== undefined && line !== undefined) line[place] = (line[place] ?? 0) + count;
  }
  return {
    starts,
    interval,
    series: REFUSAL_KINDS.map((kind) => ({ name: KINDS[kind].counted, values: values.get(kind) ?? [] })),
  };
}

const hourStart = (ms: number): number => Math.floor(ms / HOUR_MS) * HOUR_MS;

const startOfDay = (timeZone: string, ms: number): number => dayStart(timeZone, ...dayIn(timeZone, ms));
