// Tells destinations of erased persons, and writes down what came of it.

import type { SentToDestination } from '#infra/clickhouse/erasure/erase_rows.ts';
import type { Egress } from '#infra/egress/send.ts';
import type { Logger } from '#infra/log/logger.ts';
import { type KeyRing, openDestinationSecrets, type RecordSeal } from '#infra/secrets/seal.ts';
import type { Adapter, EventVerdict } from '#pipelines/delivery/contract.ts';
import { ruleOfName } from '#pipelines/delivery/deliver.ts';
import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import { dropsIdentifier } from '#pipelines/delivery/rules.ts';
import { readSettings } from '#pipelines/delivery/setting_fields.ts';
import { SEALED_AS } from '#pipelines/erasure/erasure.ts';
import {
  afterCall,
  erasedPersonOf,
  givenUp,
  inParts,
  isNoticeDue,
  joined,
  NOTICE_SEALED_AS,
  newNotice,
  type SentIds,
} from '#pipelines/erasure/notices.ts';
import type { PersonSubject } from '#pipelines/erasure/subject.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { Erasure, ErasureNotice } from '#schemas/records.ts';
import type { Destination, DestinationRule, Site } from '#schemas/setting.ts';
import { type ErasureLog, type ErasureParts, save } from './erasure_log.ts';

export type NoticeSender = ReturnType<typeof createNoticeSender>;

interface NoticeOptions {
  adapters: readonly Adapter[];
  settings: Pick<SettingsTable, 'destination' | 'destinationsOfKind'>;
  ring: KeyRing;
  seal: RecordSeal;
  egress: Pick<Egress, 'send'>;
  /** Another address than the settings' own, by the destination's name; null: there is none. */
  baseUrls: Readonly<Record<string, string | null>>;
  logger: Logger;
  /** From 0 to 1. */
  random(): number;
  nowMs(): number;
}

/** Calls that are under way together. */
const TOGETHER = 16;

/** What is still to be told, in parts, and how many of these were told before. */
interface Untold {
  parts: SentIds[];
  told: number;
}

const sealedFor = (erasureId: string, destination: string): string => `${erasureId}/${destination}`;

/**
 * With what is sealed of it sealed by the ring's first key, so that another one can be taken out of the ring; the same erasure where
 * that is so, or does not open.
 */
export function sealedAnew(seal: Pick<RecordSeal, 'anew'>, erasure: Erasure): Erasure {
  const { erasure_id: id, sealed } = erasure;
  const anew = (kind: string, place: string, text: string | null) => text && seal.anew(kind, place, text);
  const notices = (erasure.notices ?? []).map((notice) => {
    const after = anew(NOTICE_SEALED_AS, sealedFor(id, notice.destination), notice.sealed);
    return after === notice.sealed ? notice : { ...notice, sealed: after };
  });
  const after = anew(SEALED_AS, id, sealed);
  const isAnew = after !== sealed || notices.some((notice, at) => notice !== erasure.notices?.[at]);
  return isAnew ? { ...erasure, sealed: after, notices } : erasure;
}

export function createNoticeSender(options: NoticeOptions) {
  const { adapters, settings, seal, egress, baseUrls, logger, random, nowMs } = options;
  const adapterOf = (id: string) => adapters.find(({ name }) => name === kindOfDestination(id));

  async function call(erasure: Erasure, destination: Destination, untold: Untold): Promise<EventVerdict | null> {
    const adapter = adapterOf(destination.name);
    const [ids] = untold.parts;
    if (adapter?.erasedRequest === undefined || ids === undefined) return null;
    const read = readSettings(adapter, destination.settings, openDestinationSecrets(options.ring, destination));
    if (read.kind === 'invalid') return { kind: 'retry', reason: 'settings_invalid', detail: '' };
    const context = {
      destination: destination.name,
      settings: read.settings,
      baseUrl: baseUrls[adapter.name] ?? null,
      nowMs: nowMs(),
    };
    const request = adapter.erasedRequest(erasedPersonOf(erasure, ids, untold.told), context);
    const answer = await egress.send(request, adapter.limits(read.settings).timeoutMs);
    const verdict = adapter.classify(answer, []);
    // Of one message there is nothing to take in part.
    const isOne = verdict.kind !== 'split' && verdict.kind !== 'per_event' && verdict.kind !== 'taken_in_part';
    return isOne ? verdict : { kind: 'retry', reason: 'reason' in verdict ? verdict.reason : 'refused', detail: '' };
  }

  async function tell(erasure: Erasure, notice: ErasureNotice): Promise<ErasureNotice> {
    const { erasure_id, site_id, asked_at } = erasure;
    const place = sealedFor(erasure_id, notice.destination);
    const text = notice.sealed === null ? null : seal.open(NOTICE_SEALED_AS, place, notice.sealed);
    if (text === null) return givenUp(notice, 'secret_key_unknown');
    const destination = settings.destination(site_id, notice.destination);
    // Another of its id was sent nothing of the person.
    if (destination === undefined || (destination.created_at ?? 0) > asked_at)
      return givenUp(notice, 'destination_removed');
    const untold = JSON.parse(text) as Untold;
    // What is switched off is called no more, and may be switched on again.
    const verdict: EventVerdict | null = destination.enabled
      ? await call(erasure, destination, untold)
      : { kind: 'retry', reason: 'destination_disabled', detail: '' };
    if (verdict === null) return givenUp(notice, 'destination_removed');
    const left = { parts: untold.parts.slice(1), told: untold.told + 1 };
    const sealed = left.parts.length === 0 ? null : seal.seal(NOTICE_SEALED_AS, place, JSON.stringify(left));
    const after = afterCall(notice, verdict, sealed, nowMs(), random());
    const facts = { erasure: erasure_id, site: site_id, destination: notice.destination, reason: after.reason };
    if (after.state === 'given_up') logger.warn(facts, 'destination could not be told of an erased person');
    return after;
  }

  return {
    /** Tells what is due, each once, and writes down what came of it. */
    async sendDue(log: ErasureLog): Promise<void> {
      const due = [...log.now.values()].filter((one) => isNoticeDue(one, nowMs())).slice(0, TOGETHER);
      const isDue = ({ state, due_at }: ErasureNotice): boolean => state === 'pending' && due_at <= nowMs();
      const told = await Promise.all(
        due.map(async (erasure) => {
          const notices = (erasure.notices ?? []).map(async (one) => (isDue(one) ? tell(erasure, one) : one));
          return { ...erasure, notices: await Promise.all(notices), updated_at: nowMs() };
        }),
      );
      if (told.length > 0) await save(log, told);
    },
  };
}

/** What destinations are to be told of each erasure of a batch, found before its rows are deleted; sealed until then. */
export async function noticesOf(
  { adapters, settings, rows, seal, nowMs }: ErasureParts,
  batch: readonly Erasure[],
  subjectOf: (erasure: Erasure) => PersonSubject,
): Promise<Map<string, ErasureNotice[]>> {
  const notices = new Map(batch.map((erasure) => [erasure.erasure_id, [...(erasure.notices ?? [])]]));
  const kinds = adapters.filter((one) => 'erasedRequest' in one);
  for (const [siteId, erasures] of Map.groupBy(batch, ({ site_id }) => site_id)) {
    const site = settings.site(siteId);
    for (const destination of kinds.flatMap(({ name }) => settings.destinationsOfKind(name).get(siteId) ?? [])) {
      const { name } = destination;
      const sent = await rows.sentTo(siteId, name, destination.created_at ?? 0);
      for (const erasure of erasures) {
        const { erasure_id } = erasure;
        const place = sealedFor(erasure_id, name);
        const known = notices.get(erasure_id) ?? [];
        const before = known.find((one) => one.destination === name)?.sealed ?? null;
        const text = before === null ? null : seal.open(NOTICE_SEALED_AS, place, before);
        const found = sent
          .filter((one) => one.erasure_id === erasure_id)
          .map((one) => (site === undefined ? one : asRuled(one, site, destination.rules ?? [])));
        const ids = joined(
          text === null ? [] : (JSON.parse(text) as Untold).parts,
          ofPerson(found, subjectOf(erasure)),
        );
        const untold: Untold = { parts: inParts(ids), told: 0 };
        if (untold.parts.length === 0) continue;
        const sealed = seal.seal(NOTICE_SEALED_AS, place, JSON.stringify(untold));
        const others = known.filter((one) => one.destination !== name);
        notices.set(erasure_id, [...others, newNotice(name, sealed, nowMs())]);
      }
    }
  }
  return notices;
}

/** What was sent without the hashes that the destination's rules, as they are, leave out of each of the events. */
function asRuled(sent: SentToDestination, site: Site, rules: readonly DestinationRule[]): SentToDestination {
  const found = sent.events.map((event) => ruleOfName(site, rules, event));
  const isDropped = (name: 'email' | 'external_id'): boolean =>
    found.length > 0 && found.every((rule) => rule !== null && dropsIdentifier(rule, name));
  return {
    ...sent,
    email: isDropped('email') ? '' : sent.email,
    external_id: isDropped('external_id') ? '' : sent.external_id,
  };
}

/** Of what was sent only what is theirs: a row that says their address may have come by the distinct id of a till. */
function ofPerson(sent: readonly SentToDestination[], { persons, identifiers }: PersonSubject): SentIds {
  const own = new Set(persons);
  const rows = sent.filter(({ person_id }) => own.has(person_id));
  const valuesOf = (kind: string): Set<string> =>
    new Set(identifiers.flatMap((one) => (one.kind === kind ? [one.value] : [])));
  const said = (values: readonly string[], kind: string): string[] => {
    const theirs = valuesOf(kind);
    return values.filter((value) => theirs.has(value));
  };
  return {
    distinct_ids: rows.map(({ distinct_id }) => distinct_id),
    person_ids: rows.map(({ person_id }) => person_id),
    email_sha256: said(
      sent.map(({ email }) => email),
      'email',
    ),
    external_id_sha256: said(
      sent.map(({ external_id }) => external_id),
      'external_id',
    ),
  };
}
