// Commands that take a backup, look at one, and bring it back.

import type { WarehouseBackupError } from '#infra/clickhouse/backup.ts';
import { renderTime } from '#services/stage/terminal.ts';
import { type Commands, type Outcome, option, UsageError } from '../command.ts';
import { readCount, readMoment } from '../read.ts';
import { BackupError, checkFiles, readManifest } from './archive.ts';
import { pruneBackups } from './prune.ts';

const subject = 'Folder of the backup';
/** Of an error of ClickHouse's backups, whose module is loaded where it is needed. */
const PLACE_INVALID: WarehouseBackupError['code'] = 'clickhouse_place_invalid';
const DAYS_DEFAULT = 30;
const PLACE = "as ClickHouse says it: S3('https://...', ...), Disk('backups', 'monday'), File('monday')";

export const backupCommands: Commands = {
  'backup create <FOLDER>': {
    summary: 'Write settings, persons, usage and erasures to a folder, and have ClickHouse back up its rows',
    subject: 'Folder that holds no backup yet',
    options: [option('clickhouse <PLACE>', `Where ClickHouse writes to, ${PLACE}; left out: it is not backed up`)],
    examples: [
      'backup create /backups/monday',
      `backup create /backups/monday --clickhouse "S3(backups, 'monday/{shard}')"`,
    ],
    async run(args, { partsEnvironment, readLocal, watch }) {
      const request = { folder: args.subject, place: args.text('clickhouse') ?? null, say: watch.say, nowMs: Date.now };
      const taken = await withTools(({ readBackupParts, takeBackup }) =>
        takeBackup(readBackupParts(partsEnvironment, readLocal), request),
      );
      const lines = [
        `Backup written to ${args.subject}.`,
        ...taken.places.map((place) => `ClickHouse wrote ${place}.`),
        ...(taken.fill_since === null ? [] : [filledFrom(taken.fill_since)]),
        'Keep IDENTITY_SECRET, IDENTITY_KEY and SECRETS_KEYS elsewhere: without them it is worth little.',
      ];
      return { text: lines.join('\n'), json: taken };
    },
  },
  'backup check <FOLDER>': {
    summary: 'Look whether a backup is whole, and say what it holds',
    subject,
    async run({ subject: folder }): Promise<Outcome> {
      const manifest = await refusing(async () => {
        const read = await readManifest(folder);
        await checkFiles(folder, read);
        return read;
      });
      const { taken_at, version, topics, clickhouse } = manifest;
      const lines = [
        `Taken ${renderTime(taken_at)} by version ${version}; every file is as it was written.`,
        ...Object.entries(topics).map(([topic, { records }]) => `${topic}: ${records} records`),
        ...(clickhouse === null
          ? ['ClickHouse was not backed up with it.']
          : [
              `ClickHouse wrote ${clickhouse.places.join(', ')}, which is not looked at: try a restore elsewhere.`,
              filledFrom(clickhouse.since),
            ]),
      ];
      return { text: lines.join('\n'), json: { ...manifest, topics: recordsOf(topics) } };
    },
  },
  'backup prune <FOLDER>': {
    summary: 'Delete backups that are too old, but for the newest, and what was never finished',
    subject: 'Folder whose folders are backups; others in it are left',
    options: [option('days <N>', `For how many days they are kept, ${DAYS_DEFAULT} if left out`)],
    examples: ['backup prune /backups', 'backup prune /backups --days 7'],
    async run(args, { nowMs }) {
      const days = readCount(args.text('days') ?? String(DAYS_DEFAULT), 'days');
      const deleted = await refusing(() => pruneBackups(args.subject, days, nowMs));
      const lines = deleted.length === 0 ? ['Nothing to delete.'] : deleted.map((name) => `Deleted ${name}.`);
      return { text: lines.join('\n'), json: { deleted } };
    },
  },
  'backup restore <FOLDER>': {
    summary: 'Bring a backup back into a Kafka and a ClickHouse that are empty, while no process runs',
    subject,
    options: [
      option('topics', 'Write the records of the folder to Kafka'),
      option('clickhouse <PLACE>', `Have ClickHouse restore its rows from there, ${PLACE}`),
      option(
        'force',
        'Restore also rows that lie elsewhere by now, or are so old that the erased cannot be told any more',
      ),
    ],
    examples: [
      'backup restore /backups/monday --topics',
      `backup restore /backups/monday --clickhouse "Disk('backups', 'monday')"`,
    ],
    async run(args, { partsEnvironment, readLocal, watch }) {
      const [place, isOfTopics] = [args.text('clickhouse') ?? null, args.flag('topics')];
      if (place === null && !isOfTopics) {
        throw new UsageError('nothing_to_restore', 'say --topics, --clickhouse PLACE, or both');
      }
      const request = { folder: args.subject, place, isOfTopics, isForced: args.flag('force') };
      const restored = await withTools(({ readBackupParts, restoreBackup }) =>
        restoreBackup(readBackupParts(partsEnvironment, readLocal), { ...request, say: watch.say, nowMs: Date.now }),
      );
      const { taken_at, fill_since, erased_anew } = restored;
      const lines = [
        `Restored as of ${renderTime(taken_at)}.`,
        'Now provision, and start the processes.',
        ...(fill_since === null
          ? []
          : [`What arrived later and is in Kafka still: run backup refill ${new Date(fill_since).toISOString()}`]),
        ...(erased_anew === 0 ? [] : [saidOf(erased_anew)]),
      ];
      return { text: lines.join('\n'), json: restored };
    },
  },
  'backup refill <MOMENT>': {
    summary: 'Fill in rows that ClickHouse lacks after a restore, from Kafka, with the variables of the warehouse',
    subject: 'Since when rows may be missing, as restore says it',
    examples: ['backup refill 2027-01-31T08:00:00.000Z'],
    async run({ subject: moment }, { partsEnvironment, readLocal, nowMs }) {
      const sinceMs = readPastMoment(moment, nowMs);
      const leftOut = await withTools(({ runRefill }) => runRefill(partsEnvironment, readLocal, sinceMs));
      const isDone = leftOut !== null;
      const text = isDone
        ? `Everything that Kafka has since then is in ClickHouse${leftOut === 0 ? '' : `, but ${leftOut} that made no row when they came either`}.`
        : 'It ended before its end, for the reason that is logged above. Once that is mended, run it again.';
      return { text, json: { is_done: isDone, left_out: leftOut }, isPartial: !isDone };
    },
  },
  'erasure repeat <MOMENT>': {
    summary: 'Have what was erased since a moment erased once more, where rows of before were restored by other tools',
    subject: 'When the backup of the rows was begun: a time with its offset, or how long ago',
    examples: ['erasure repeat 2027-01-31T08:00Z', 'erasure repeat 3d'],
    async run({ subject: moment }, { partsEnvironment, readLocal, nowMs }) {
      const sinceMs = readPastMoment(moment, nowMs);
      const count = await withTools(({ readBackupParts, withKafka, eraseAnew }) => {
        const parts = readBackupParts(partsEnvironment, readLocal);
        return withKafka(parts, (session) => eraseAnew(parts, session, sinceMs, nowMs));
      });
      return { text: saidOf(count), json: { erased_anew: count } };
    },
  },
};

/** @throws UsageError */
function readPastMoment(text: string, nowMs: number): number {
  const momentMs = readMoment(text, 'MOMENT', nowMs);
  if (momentMs > nowMs) throw new UsageError('moment_malformed', `MOMENT ${text} is in the future`);
  return momentMs;
}

const filledFrom = (sinceMs: number): string => `Its MOMENT: ${new Date(sinceMs).toISOString()}`;

const saidOf = (erasures: number): string =>
  `${erasures} ${erasures === 1 ? 'erasure is' : 'erasures are'} carried out once more as soon as erasure runs.`;

const recordsOf = (topics: Record<string, { records: number }>): Record<string, number> =>
  Object.fromEntries(Object.entries(topics).map(([topic, { records }]) => [topic, records]));

type Tools = Awaited<ReturnType<typeof load>>;

/** Loaded where they are asked for: the clients of all parts take longer to load than most commands to run. */
async function load() {
  const [{ readBackupParts, runRefill, withKafka }, { takeBackup }, { eraseAnew, restoreBackup }] = await Promise.all([
    import('./backup_parts.ts'),
    import('./back_up.ts'),
    import('./restore.ts'),
  ]);
  return { readBackupParts, runRefill, withKafka, takeBackup, eraseAnew, restoreBackup };
}

/** Works with what takes and brings back backups. */
const withTools = <T>(work: (tools: Tools) => Promise<T>): Promise<T> => refusing(async () => work(await load()));

/** What forbids it is said as of a command that cannot be done. */
async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isForbidden =
      error instanceof BackupError || (error instanceof Error && 'code' in error && error.code === PLACE_INVALID);
    throw isForbidden ? new UsageError(String(error.code), error.message) : error;
  }
}
