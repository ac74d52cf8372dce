import type { ReusedId } from '#pipelines/intake/reused_ids.ts';
import type { TakenBatch } from '#pipelines/intake/take_batch.ts';
import {
  mergeRefusalNotes,
  newRefusalNotes,
  noteRefusal,
  type Refusal,
  type RefusalNotes,
} from '#pipelines/refusals/refusal_notes.ts';
import { shownNames } from '#pipelines/refusals/shown_names.ts';
import { keyIdOf, type RefusedCaller } from '#pipelines/settings/keys.ts';
import type { ApiKey, Site } from '#schemas/setting.ts';
import { createSiteNotes } from './site_notes.ts';

export interface RefusalsOptions {
  /** Passes notes of a site on; where it throws they are passed on with the next. */
  note(siteId: string, notes: RefusalNotes): Promise<void>;
  /** Says that refusals are counted from now on, unless that was said before. */
  markCounted(): Promise<void>;
  /** For names that are addresses. */
  secret: Buffer;
  nowMs(): number;
}

/** Who sent events, or calls that become such. */
export interface Sender {
  key: ApiKey;
  site: Site;
}

/** The events of a request that was answered, and what became of them. */
export interface AnsweredEvents {
  events: readonly unknown[];
  batch: TakenBatch;
  /** Of those that were taken. */
  reused: readonly ReusedId[];
  /** How many of those that were taken had no place in the month; the last ones. */
  overQuota: number;
  /** The place in the request that each event came of; absent: its own. */
  places?: readonly number[] | undefined;
}

/** Counts by site and reason what the edge does not accept, or accepts with a fault, and keeps samples of it. */
export interface Refusals {
  /** Of a request that was answered: its events that were not accepted, or with a fault. */
  sawEvents(sender: Sender, answered: AnsweredEvents): void;
  /** An event or call that is malformed, in its place of the request. */
  sawRejected(sender: Sender, code: string, index: number, sent: unknown): void;
  /** A request of which nothing was taken. */
  sawRequest(refused: RefusedCaller, code: string): void;
  /** Passes on what is left. */
  stop(): Promise<void>;
}

/** A Redis that was emptied counts anew, and says so after this. */
const MARK_MS = 60_000;

/** Gathers in memory what each site was not accepted of, and passes it on every 2 s; samples hold cleaned names alone. */
export function createRefusals({ note, markCounted, secret, nowMs }: RefusalsOptions): Refusals {
  const waiting = createSiteNotes({ begin: newRefusalNotes, note, merge: mergeRefusalNotes });
  const mark = (): void => {
    markCounted().catch(() => undefined);
  };
  mark();
  const marking = setInterval(mark, MARK_MS);
  marking.unref();

  function sawEvent(
    { key, site }: Sender,
    refusal: Refusal,
    index: number,
    sent: unknown,
    before: string | null = null,
  ): void {
    noteRefusal(waiting.of(site.site_id), refusal, nowMs(), () => {
      const cleaning = { secret, defaultCountry: site.default_country };
      const { event, fields } = shownNames(sent, cleaning);
      const other = before === null ? null : shownNames({ event: before }, cleaning).event;
      const names = other === null ? event : `${other}, ${event}`;
      return { keyId: keyIdOf(key.key_hash), caller: key.caller, index, event: names, fields };
    });
  }

  return {
    sawEvents(sender, { events, batch, reused, overQuota, places }) {
      const saw = (refusal: Refusal, index: number, before?: string): void =>
        sawEvent(sender, refusal, places?.[index] ?? index, events[index], before);
      for (const { index, code } of batch.rejected) saw({ kind: 'rejected', code }, index);
      for (const { index, reason } of batch.dropped) saw({ kind: 'dropped', code: reason }, index);
      for (const { index, code } of batch.warned) saw({ kind: 'warned', code }, index);
      if (overQuota + reused.length === 0) return;
      const sound = soundPlaces(events.length, batch);
      for (const { at, before } of reused) saw({ kind: 'warned', code: 'uuid_reused' }, sound[at] ?? at, before);
      for (const index of sound.slice(sound.length - overQuota)) saw({ kind: 'dropped', code: 'quota' }, index);
    },
    sawRejected: (sender, code, index, sent) => sawEvent(sender, { kind: 'rejected', code }, index, sent),
    sawRequest({ siteId, key }, code) {
      noteRefusal(waiting.of(siteId), { kind: 'refused', code }, nowMs(), () => ({
        keyId: key === null ? null : keyIdOf(key.key_hash),
        caller: key?.caller ?? null,
        event: null,
        index: null,
        fields: [],
      }));
    },
    async stop() {
      clearInterval(marking);
      await waiting.stop();
    },
  };
}

/** Where the events of a request stand that were taken. */
function soundPlaces(count: number, { rejected, dropped }: TakenBatch): number[] {
  const others = new Set([...rejected, ...dropped].map(({ index }) => index));
  return Array.from({ length: count }, (_, index) => index).filter((index) => !others.has(index));
}
