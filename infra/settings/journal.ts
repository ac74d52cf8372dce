import { setTimeout as sleep } from 'node:timers/promises';
import { createMutex } from '#infra/concurrency/gates.ts';
import { repeatFromNow } from '#infra/concurrency/time_limits.ts';
import { createKafka, type KafkaSession } from '#infra/kafka/client.ts';
import { isFenced, openFencedProducer } from '#infra/kafka/producers.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import type { Logger } from '#infra/log/logger.ts';
import { type Codec, createCodec } from '#infra/registry/codec.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import {
  createSettingsView,
  erasedSiteRecords,
  JournalError,
  type Planned,
  type SettingRecord,
  type SettingsJournal,
  type SettingsView,
} from '#pipelines/settings/journal.ts';
import type { Erasure } from '#schemas/records.ts';
import type { Setting } from '#schemas/setting.ts';
import { followRecords } from './follow_settings.ts';

export interface OpenJournal extends SettingsJournal {
  writable(): boolean;
  close(): Promise<void>;
}

type Turn = Awaited<ReturnType<typeof openTurn>>;

interface Codecs {
  settings: Codec<Setting>;
  audit: Codec<Setting>;
}

const SEEN_MS_MAX = 10_000;
const POLL_MS = 5;
/** A few seconds in all; then the caller gets an error, and may try again. */
const WRITE_RETRIES = 8;

/**
 * Opens site.config as its one writer. Each change is a transaction of one transactional id: whoever opens the journal
 * later fences this writer, so that two control services can both run and neither writes on top of what it has not
 * read. After a change that failed, the writer is opened anew, which fences first and reads to the end second. A change that
 * met a fence is planned again once, by then of the newest settings.
 */
export async function openSettingsJournal(
  session: KafkaSession,
  registry: Registry,
  logger: Logger,
  onFatal: (error: unknown) => void,
): Promise<OpenJournal> {
  const codecs: Codecs = {
    settings: await createCodec<Setting>(registry, TOPICS.settings, 'setting', 'left_out'),
    audit: await createCodec<Setting>(registry, TOPICS.audit, 'setting', 'left_out'),
  };
  const mutex = createMutex();
  const open = (): Promise<Turn> => openTurn(session, codecs.settings, logger, onFatal);
  let turn = await open();
  let writable = true;

  async function reopen(): Promise<void> {
    const before = turn;
    turn = await open();
    writable = true;
    await before.following.stop();
  }

  async function change<T>(plan: (view: SettingsView) => Planned<T>, isAgain = false): Promise<T> {
    if (!writable) await reopen();
    const { records, result } = plan(turn.view);
    if (records.length === 0) return result;
    try {
      await append(turn, codecs, records);
    } catch (error) {
      writable = false;
      await turn.producer.close();
      // Another control service wrote in between: nothing of this change is there, and it is planned again on what that one wrote.
      if (!isAgain && isFenced(error)) return change(plan, true);
      throw error;
    }
    return result;
  }

  return {
    view: () => turn.view,
    change: (plan) => mutex.run(() => change(plan)).catch((error: unknown) => Promise.reject(asJournalError(error))),
    writable: () => writable,
    async close() {
      await turn.producer.close();
      await turn.following.stop();
    },
  };
}

async function openTurn(
  session: KafkaSession,
  codec: Codec<Setting>,
  logger: Logger,
  onFatal: (error: unknown) => void,
) {
  const producer = await openFencedProducer(
    createKafka(session.config, 'svc.control.writer', logger, WRITE_RETRIES),
    session.groupOf('control.settings'),
  );
  const view = createSettingsView();
  const following = followRecords(session, codec, view.apply, logger, onFatal);
  try {
    return { producer, view, following: await following, logger };
  } catch (error) {
    // The error that is being thrown says more than a failed close.
    await producer.close().catch(() => undefined);
    throw error;
  }
}

/**
 * The topic has one partition, whose order is the order of the changes. What the audit says of them goes with them to a topic that
 * is kept by time, where no later entry takes its place, and to the log.
 */
async function append(turn: Turn, { settings, audit }: Codecs, records: readonly SettingRecord[]): Promise<void> {
  const entries = records.filter(({ setting }) => setting?.audit);
  const of = (codec: Codec<Setting>, some: readonly SettingRecord[]) =>
    some.map(({ key, setting }) => ({ key, value: setting === null ? null : codec.encode(setting) }));
  await turn.producer.appendAll([
    [TOPICS.settings, 0, of(settings, records)],
    ...(entries.length === 0 ? [] : [[TOPICS.audit, 0, of(audit, entries)] as const]),
  ]);
  for (const { setting } of entries) turn.logger.info(loggedEntry(setting), 'audit');
  const deadline = performance.now() + SEEN_MS_MAX;
  while (!isApplied(turn.view, records.at(-1))) {
    if (performance.now() > deadline) throw new JournalError('written, but not read back in time');
    await sleep(POLL_MS);
  }
}

function isApplied({ audit, record }: SettingsView, last: SettingRecord | undefined): boolean {
  if (last === undefined) return true;
  const { key, setting } = last;
  if (setting?.audit) return audit.lastSeq >= setting.audit.seq;
  return record(key)?.changed_at === setting?.changed_at;
}

/** Without what was changed: that may be about persons. */
function loggedEntry(setting: Setting | null): Record<string, unknown> {
  const { seq, setting_key, action, account_id, secrets_changed } = setting?.audit ?? {};
  return { seq, changed_by: setting?.changed_by, action, setting_key, account_id, secrets_changed };
}

/** Turns Kafka's errors into the one error that callers know; any other error is our own fault and is thrown as it is. */
function asJournalError(error: unknown): unknown {
  if (!(error instanceof Error) || !error.name.startsWith('KafkaJS')) return error;
  return new JournalError('site.config could not be written', { cause: error });
}

interface ErasedSitesOptions {
  journal: SettingsJournal;
  /** By their ids, kept current. */
  erasures: ReadonlyMap<string, Erasure>;
  logger: Logger;
  nowMs(): number;
}

/** Removes the settings of a site that is erased. @throws JournalError */
export async function removeErasedSite(journal: SettingsJournal, erasure: Erasure, nowMs: number): Promise<void> {
  const { site_id, asked_by } = erasure;
  await journal.change((view) => ({ records: erasedSiteRecords(view, site_id, asked_by, nowMs), result: null }));
}

/** Looks again and again whether a site is there still whose erasure has begun. The function that is answered ends it. */
export function watchErasedSites(
  { journal, erasures, logger, nowMs }: ErasedSitesOptions,
  everyMs: number,
  fatal: (error: unknown) => void,
): () => Promise<void> {
  async function removeAll(): Promise<void> {
    for (const erasure of erasures.values()) {
      const isThere = journal.view().table.site(erasure.site_id) !== undefined;
      if (!erasure.site || erasure.phase !== 'suppressing' || !isThere) continue;
      try {
        await removeErasedSite(journal, erasure, nowMs());
      } catch (error) {
        if (!(error instanceof JournalError)) throw error;
        logger.warn({ err: error, site: erasure.site_id }, 'settings of an erased site could not be removed yet');
      }
    }
  }
  return repeatFromNow(removeAll, everyMs, fatal).stop;
}
