// Retry topics, and when their records are due.
import type { DeliveryJobRecord } from '#schemas/records.ts';
import { RETRY_AFTER_MS_MAX } from './breaker.ts';
import { isFirstOfKind } from './destination_id.ts';

/** Retry topics in order, with the wait before an attempt in milliseconds. The names are part of topic names. */
export const RETRY_DELAYS = [
  { name: '5s', delayMs: 5_000 },
  { name: '1m', delayMs: 60_000 },
  { name: '10m', delayMs: 600_000 },
  { name: '1h', delayMs: 3_600_000 },
  { name: '6h', delayMs: 21_600_000 },
] as const;
/** The retry topic of sites whose destinations answer slowly: all on it is due, and waits for others of its kind alone. */
const SLOW = 'slow';
export type RetryDelay = (typeof RETRY_DELAYS)[number]['name'] | typeof SLOW;

/** How long after its first attempt an event is still retried. */
export const RETRY_AGE_MAX_MS = 72 * 3_600_000;
/** Share of the delay that is spread at random, so that what failed together does not come back together. */
const JITTER = 0.2;

export interface RetryRequest {
  /** Attempts made so far, from 1. */
  attempt: number;
  firstAttemptedAtMs: number;
  nowMs: number;
  /** Wait that the platform asked for; null when it did not. */
  retryAfterMs: number | null;
  /** When the platform stops taking the event; null where its age does not matter. */
  deadlineMs: number | null;
  /** From 0 to 1. */
  random: number;
}

export type RetryChoice = { kind: 'retry'; retryTopic: RetryDelay; dueAtMs: number } | { kind: 'dead'; reason: string };

/** The retry topic of an attempt is the shortest that the platform's wish allows; the last retry topic takes what waits longer. */
function delayOf(question: RetryRequest): { retryTopic: RetryDelay; delayMs: number } {
  const byAttempt = RETRY_DELAYS[Math.min(Math.max(question.attempt, 1), RETRY_DELAYS.length) - 1] ?? RETRY_DELAYS[0];
  const wishMs = Math.min(question.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
  const delayMs = Math.round(Math.max(byAttempt.delayMs, wishMs) * (1 + JITTER * question.random));
  if (wishMs <= byAttempt.delayMs) return { retryTopic: byAttempt.name, delayMs };
  const byWish = RETRY_DELAYS.findLast((retryTopic) => retryTopic.delayMs <= wishMs) ?? byAttempt;
  return { retryTopic: byWish.name, delayMs };
}

/**
 * Where an event goes after an attempt that may be repeated. Delays are never shorter than the retry topic's or than the
 * platform's Retry-After, of which six hours count at the most, and up to a fifth longer by jitter. Dead reasons: `too_old`
 * when the platform's age window would be closed by then, `retries_exhausted` when 72 hours have passed since the first
 * attempt.
 */
export function nextRetry(question: RetryRequest): RetryChoice {
  const { retryTopic, delayMs } = delayOf(question);
  return choiceOf(question, retryTopic, question.nowMs + delayMs);
}

/** The retry topic, unless the event may not wait there until then. */
function choiceOf(
  { firstAttemptedAtMs, deadlineMs }: Pick<RetryRequest, 'firstAttemptedAtMs' | 'deadlineMs'>,
  retryTopic: RetryDelay,
  dueAtMs: number,
): RetryChoice {
  if (deadlineMs !== null && dueAtMs >= deadlineMs) return { kind: 'dead', reason: 'too_old' };
  if (dueAtMs - firstAttemptedAtMs > RETRY_AGE_MAX_MS) return { kind: 'dead', reason: 'retries_exhausted' };
  return { kind: 'retry', retryTopic, dueAtMs };
}

/** The delay of the shortest retry topic that what is paused goes to, but for its probe. */
export const PAUSED_DELAY_MS_MIN = 600_000;

/**
 * Where an event goes of which nothing was asked, as its site's destination is in trouble. It lies there until that is
 * over (`waits_since` of its job makes it due then), so its retry topic is a long one: the longest whose delay is at most what
 * it has waited already, or what its trouble asks for, ten minutes at least. In 72 hours it is written anew some
 * twenty times, where a look at each try of the destination made it thousands. A retry topic behind whose delay it would be
 * too old makes way for a shorter one; dead reasons as in `nextRetry`, where even the shortest comes too late.
 */
export function pausedTopic(question: Omit<RetryRequest, 'attempt'>): RetryChoice {
  const { nowMs, firstAttemptedAtMs, retryAfterMs } = question;
  return longestDelay(question, Math.max(nowMs - firstAttemptedAtMs, retryAfterMs ?? 0, PAUSED_DELAY_MS_MIN));
}

/** Where the one event of a paused site goes that shows when its trouble is over: looked at no later than that asks for. */
export function probeTopic(question: Omit<RetryRequest, 'attempt'>): RetryChoice {
  return longestDelay(question, question.retryAfterMs ?? 0);
}

/** Where an event of a slow site goes: it was not tried, so that only the platform's age limit ends it. */
export function slowRetry({ nowMs, deadlineMs }: Pick<RetryRequest, 'nowMs' | 'deadlineMs'>): RetryChoice {
  return choiceOf({ firstAttemptedAtMs: nowMs, deadlineMs }, SLOW, nowMs);
}

function longestDelay(question: Omit<RetryRequest, 'attempt'>, delayMsMax: number): RetryChoice {
  const { nowMs, random } = question;
  const retryTopics = RETRY_DELAYS.filter(({ delayMs }, place) => place === 0 || delayMs <= delayMsMax);
  const choices = retryTopics.map(({ name, delayMs }) =>
    choiceOf(question, name, nowMs + Math.round(delayMs * (1 + JITTER * random))),
  );
  return choices.findLast(({ kind }) => kind === 'retry') ?? (choices[0] as RetryChoice);
}

/** For which destination a job is, and when it is due. */
export interface JobAim {
  /** Id in the site. */
  destination: string;
  dueAtMs: number;
  /** Begin of the attempt before; 0 where there was none. */
  waitsSinceMs: number;
}

/** The end of time in milliseconds since 1970 UTC. */
const NEVER_MS = 8_640_000_000_000_000;

/**
 * How a job says it. A process of a version that knows one destination of a kind takes every job for that one: those for others
 * are never due to it, nor released early, and wait where they are.
 */
export function fieldsOfAim(aim: JobAim): Pick<DeliveryJobRecord, 'due_at' | 'waits_since' | 'further'> {
  const { destination, dueAtMs: due_at, waitsSinceMs: waits_since } = aim;
  if (isFirstOfKind(destination)) return { due_at, waits_since, further: null };
  return { due_at: NEVER_MS, waits_since: 0, further: { destination, due_at, waits_since } };
}

export function aimOf(
  { due_at, waits_since, further }: Pick<DeliveryJobRecord, 'due_at' | 'waits_since' | 'further'>,
  kind: string,
): JobAim {
  const { destination, ...times } = further ?? { destination: kind, due_at, waits_since };
  return { destination, dueAtMs: times.due_at, waitsSinceMs: times.waits_since ?? 0 };
}

export const retryTopicName = (destination: string, retryTopic: RetryDelay): string =>
  `delivery.${destination}.retry.${retryTopic}`;
/** Whether records of a topic wait there to be tried again, or to be replayed. */
export const isRetryTopic = (topic: string): boolean => /^delivery\.\w+\.(?:retry\.|replay$)/.test(topic);
export const slowTopic = (destination: string): string => retryTopicName(destination, SLOW);
export const replayTopic = (destination: string): string => `delivery.${destination}.replay`;

/** The wait of the retry topic that a topic of a destination is; 0 for those of slow sites and of replays, where all is due at once. */
export function delayOfTopic(destination: string, topic: string): number {
  return RETRY_DELAYS.find(({ name }) => retryTopicName(destination, name) === topic)?.delayMs ?? 0;
}

/** Every topic a destination needs beside the ones all share. */
export const topicsOf = (destination: string): string[] => [
  ...RETRY_DELAYS.map(({ name }) => retryTopicName(destination, name)),
  slowTopic(destination),
  replayTopic(destination),
];

/** Share of a retry topic's delay by which records that came in order may be due out of order: the jitter. */
const SPREAD = 1.2;
/** Shortest rest after records were only moved. */
const REST_MS_MIN = 500;

/** What is to be done with the records of a retry topic that were read, by their places, from 0. */
export interface RetryPoll {
  /** Due: to be attempted. */
  take: number[];
  /** Not due, and in the way of what is behind them: to be written again at the end of the retry topic. */
  move: number[];
  /** From which place on records stay where they are; null where all are taken or moved. */
  leaveFrom: number | null;
  /** When the rest, or what comes behind it, is to be looked at; milliseconds since 1970 UTC. */
  notBeforeMs: number;
}

interface RetryRequestOfRecords {
  /** When each record is due, in their order; milliseconds since 1970 UTC. */
  duesMs: readonly number[];
  nowMs: number;
  /** The retry topic's wait. */
  delayMs: number;
  /** Whether the retry topic holds more behind what was read. */
  isMoreBehind: boolean;
  /** How many of the records, from the first on, make way where they are not due, as what lies behind them may be due. */
  skipCount: number;
}

/**
 * Looks at what was read of a retry topic. A record is never held up by one before it that is due later: what is due is taken
 * wherever it lies, and what is not due before it goes to the end. Where nothing is due, records due much later than the
 * retry topic's wait make way for what lies behind what was read; they go round in steps, so that a retry topic of nothing else is not
 * written without a pause. A pass over the retry topic goes on without one.
 */
export function pollRetryTopic({ duesMs, nowMs, delayMs, isMoreBehind, skipCount }: RetryRequestOfRecords): RetryPoll {
  const last = Math.max(
    duesMs.findLastIndex((dueMs) => dueMs <= nowMs),
    isMoreBehind ? skipCount - 1 : -1,
  );
  const earliest = (dues: readonly number[]): number => Math.min(...dues, nowMs + delayMs);
  if (last >= 0) {
    const places = duesMs.slice(0, last + 1).map((dueMs, place) => ({ place, isDue: dueMs <= nowMs }));
    const rest = duesMs.slice(last + 1);
    return {
      take: places.filter(({ isDue }) => isDue).map(({ place }) => place),
      move: places.filter(({ isDue }) => !isDue).map(({ place }) => place),
      leaveFrom: rest.length === 0 ? null : last + 1,
      notBeforeMs: earliest(duesMs.filter((dueMs) => dueMs > nowMs)),
    };
  }
  const near = duesMs.findIndex((dueMs) => dueMs <= nowMs + delayMs * SPREAD);
  const far = near < 0 ? duesMs.length : near;
  if (!isMoreBehind || far === 0) return { take: [], move: [], leaveFrom: 0, notBeforeMs: earliest(duesMs) };
  const move = Array.from({ length: far }, (_, place) => place);
  const soonMs = nowMs + Math.max(REST_MS_MIN, delayMs / 10);
  return { take: [], move, leaveFrom: far, notBeforeMs: Math.min(soonMs, ...duesMs.slice(far)) };
}
