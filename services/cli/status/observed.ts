// What was read of an installation, and the words that findings about it share.

import type { HealthItem } from '#services/control_api/destinations.ts';
import type { StageItem } from '#services/control_api/operations.ts';
import type { AccountItem } from '#services/control_api/sites.ts';
import type { ObservedDisk } from '../local_folder.ts';
import { objectIn } from '../read.ts';

/** critical: events do not flow, or are lost; warning: they will be, or some of them; notice: nothing is wrong yet. */
export type Severity = 'critical' | 'warning' | 'notice';

export interface Finding {
  severity: Severity;
  what: string;
  /** Milliseconds since 1970 UTC; null where it is not known. */
  sinceMs: number | null;
  todo: string;
}

export interface HttpAnswer {
  status: number;
  body: string;
}

/** What one process answered; null where it did not, or has no address. */
interface ObservedProcess {
  name: string;
  isAsked: boolean;
  ready: HttpAnswer | null;
  metrics: HttpAnswer | null;
  /** When its supervisor last saw it die, the oldest first, in milliseconds since 1970 UTC; empty where nobody watches it. */
  diedMs: readonly number[];
  /** By its supervisor, when it died or answered last, where it is not back, or did not answer the last time; else null. */
  silentSinceMs: number | null;
}

interface ObservedPart {
  name: string;
  isRunning: boolean;
  /** When it ended unasked, the oldest first, in milliseconds since 1970 UTC. */
  diedMs: readonly number[];
  /** What ended it the last time: a signal, or the trouble that its log tells of. */
  said: string | null;
}

/** Everything that was read. A list of the control service is null where it could not be had. */
export interface Observed {
  nowMs: number;
  /** What `/v1/health` answered; null where no edge is known. */
  edge: { answer: HttpAnswer | null } | null;
  processes: readonly ObservedProcess[];
  /** `silent`: it does not answer; `refused`: it does not know the token; null: none is known. */
  control:
    | 'silent'
    | 'refused'
    | null
    | {
        stages: readonly StageItem[] | null;
        destinations: readonly HealthItem[] | null;
        accounts: readonly AccountItem[] | null;
        /** By stage, of those that wrote dead letters since they started: when the oldest open one died; `none`: none is; null: that is not known. */
        openDeadLetters: ReadonlyMap<string, number | 'none' | null>;
      };
  /** Parts that run beside what was started here, with what supervises them. */
  parts: readonly ObservedPart[];
  /** The disks with the local data. */
  disks: readonly ObservedDisk[];
}

/** A process that answers, read. */
export interface Reading {
  name: string;
  waitingFor: readonly string[];
  away: readonly string[];
  since: Readonly<Record<string, number>>;
  metric: ReadMetric;
}

export interface Context {
  observed: Observed;
  readings: readonly Reading[];
  /** Names of processes that should answer and do not. */
  silent: readonly string[];
}

interface Sample {
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** The samples of a metric of one process. */
export type ReadMetric = (name: string) => readonly Sample[];

const LINE = /^(svc_\w+)(?:\{(.*)\})? (\S+)$/gm;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Reads our own metrics in Prometheus' text format; what is no such line, and values that are no number, are left out. */
export function readMetrics(text: string): ReadMetric {
  const samples = new Map<string, Sample[]>();
  for (const [, name = '', labels = '', value] of text.matchAll(LINE)) {
    if (Number.isNaN(Number(value))) continue;
    const read = [...labels.matchAll(LABEL)].map(([, label = '', content = '']) => [label, content] as const);
    const sample = { labels: Object.fromEntries(read), value: Number(value) };
    samples.set(name, [...(samples.get(name) ?? []), sample]);
  }
  return (name) => samples.get(name) ?? [];
}

/** @param text Of its metrics. */
export function readingOf(name: string, ready: HttpAnswer, text: string): Reading {
  const body = objectIn(ready.body) ?? {};
  const names = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
  const since = Object.entries(typeof body['since'] === 'object' ? { ...body['since'] } : {});
  const waitingFor = names(body['waiting_for']);
  const metric = readMetrics(text);
  const aheadMs = 1_000 * (metric('svc_clock_ahead_seconds')[0]?.value ?? 0);
  return {
    name,
    waitingFor: waitingFor.length === 0 && ready.status !== 200 ? ['unknown'] : waitingFor,
    away: names(body['away']),
    // By its own clock, which may be wrong.
    since: Object.fromEntries(since.map(([part, sinceMs]) => [part, Math.round(Number(sinceMs) - aheadMs)])),
    metric,
  };
}

/** Where operators read more. */
export const OPERATIONS = 'docs/operations.md';

/** Whether a process is of a stage: `dedup`, `dedup.2` beside it, or `dedup@host:port` of an address that was given. */
export const isNamed = (name: string, stage: string): boolean =>
  name.startsWith(stage) && /^(?:\.\d+)?(?:@|$)/.test(name.slice(stage.length));

export const earliest = (times: readonly number[]): number | null => (times.length === 0 ? null : Math.min(...times));

const LISTED_MAX = 4;

export function listed(names: readonly string[]): string {
  const more = names.length - LISTED_MAX;
  return more > 0 ? `${names.slice(0, LISTED_MAX).join(', ')} and ${more} more` : names.join(', ');
}
