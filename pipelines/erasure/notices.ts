// What destinations are told of an erased person, and until when that is tried.

import type { ErasedPerson, EventVerdict } from '#pipelines/delivery/contract.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { nextRetry } from '#pipelines/delivery/retry_topics.ts';
import type { Erasure, ErasureNotice } from '#schemas/records.ts';

/** Under which kind it is sealed. */
export const NOTICE_SEALED_AS = 'person.erasure.notice';

/** Ids and hashes of one call: some receivers take no bodies above 100 kB, and Standard Webhooks advises 20 kB. */
const IDS_MAX = 100;

/** Ids and hashes of a person that a destination was sent. */
export interface SentIds {
  distinct_ids: string[];
  person_ids: string[];
  email_sha256: string[];
  external_id_sha256: string[];
}

const NAMES = ['distinct_ids', 'person_ids', 'email_sha256', 'external_id_sha256'] as const;

/** The same in parts of a call each; none where nothing was sent. */
export function inParts(sent: SentIds): SentIds[] {
  const all = NAMES.flatMap((name) => [...new Set(sent[name])].map((id) => ({ name, id })));
  return Array.from({ length: Math.ceil(all.length / IDS_MAX) }, (_, part) => {
    const some = all.slice(part * IDS_MAX, (part + 1) * IDS_MAX);
    const of = (wanted: string): string[] => some.flatMap(({ name, id }) => (name === wanted ? [id] : []));
    return Object.fromEntries(NAMES.map((name) => [name, of(name)])) as unknown as SentIds;
  });
}

/** What was sent before and what was found now, when rows are looked through once more. */
export function joined(before: readonly SentIds[], sent: SentIds): SentIds {
  const all = [...before, sent];
  return Object.fromEntries(NAMES.map((name) => [name, all.flatMap((one) => one[name])])) as unknown as SentIds;
}

/** What is told in a call: `part` counts from 0, so that a call that is made again has the same id. */
export const erasedPersonOf = (
  { erasure_id, site_id, asked_at }: Erasure,
  ids: SentIds,
  part: number,
): ErasedPerson => ({
  ...ids,
  ...{ notice_id: `${erasure_id}/${part}`, site_id, erased_at: asked_at },
});

export function newNotice(destination: string, sealed: string, nowMs: number): ErasureNotice {
  return { destination, state: 'pending', sealed, attempt: 0, first_at: null, due_at: nowMs, reason: '' };
}

/** Whether something of an erasure that is done is to be told by now. */
export function isNoticeDue({ phase, notices = [] }: Erasure, nowMs: number): boolean {
  return phase === 'done' && notices.some(({ state, due_at }) => state === 'pending' && due_at <= nowMs);
}

/**
 * A notice after a call: told, tried again as deliveries are, or given up after as long. What it says is kept no longer than that.
 *
 * @param left What is still to be told, sealed; null where that was all.
 * @param random From 0 to 1.
 */
export function afterCall(
  notice: ErasureNotice,
  verdict: Pick<EventVerdict, 'kind'> & { reason?: string; retryAfterMs?: number | null },
  left: string | null,
  nowMs: number,
  random: number,
): ErasureNotice {
  if (verdict.kind === 'delivered') {
    const next = { ...notice, attempt: 0, first_at: null, due_at: nowMs, reason: '' };
    return left === null ? { ...next, state: 'told', sealed: null } : { ...next, sealed: left };
  }
  const { reason = '', retryAfterMs = null } = verdict;
  const attempt = notice.attempt + 1;
  const firstAttemptedAtMs = notice.first_at ?? nowMs;
  const choice = nextRetry({ attempt, firstAttemptedAtMs, nowMs, retryAfterMs, deadlineMs: null, random });
  const tried = { ...notice, attempt, first_at: firstAttemptedAtMs, reason };
  return choice.kind === 'dead' ? givenUp(tried, reason) : { ...tried, due_at: choice.dueAtMs };
}

/** Nothing is told any more: somebody has to do it by hand. */
export function givenUp(notice: ErasureNotice, reason: string): ErasureNotice {
  return { ...notice, state: 'given_up', sealed: null, reason };
}

const ADVERTISING = 'It deletes no single events: remove the person from audiences that you uploaded there.';

/** What is to be done by hand at a destination, by its kind, as nothing that was sent is called back. */
const TO_DO: Readonly<Record<string, string>> = {
  ga4: 'Delete the user in the User explorer, or by the User Deletion API.',
  google: ADVERTISING,
  linkedin: ADVERTISING,
  meta: ADVERTISING,
  pinterest: ADVERTISING,
  posthog: 'Delete the person together with their events, there.',
  reddit: ADVERTISING,
  snapchat: ADVERTISING,
  tiktok: ADVERTISING,
  webhook: 'Delete what your own system has kept of the webhooks.',
};

export const toDoAt = (destination: string): string =>
  TO_DO[kindOfDestination(destination)] ?? 'Delete what it has of the person.';

interface NoticeState {
  state: 'by_hand' | 'pending' | 'told' | 'given_up';
  reason: string;
  /** By hand. */
  to_do: string;
}

/** What became of telling a destination, for people. */
export function noticeSentence({ state, reason, to_do }: NoticeState): string {
  const because = reason === '' ? '' : ` (${reason})`;
  if (state === 'told') return 'Notified by person.erased';
  if (state === 'pending') return `Notification by person.erased is pending${because}`;
  return state === 'given_up' ? `Notification failed${because}. ${to_do}` : to_do;
}
