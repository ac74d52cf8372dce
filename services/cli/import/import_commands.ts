// Commands that import sales from files: offline conversions of tills and back offices. `import history` is in a file of its own.

import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { hashKey, isKeyFormat } from '#pipelines/settings/callers.ts';
import { ControlRefusal, ControlUnavailableError, pathOf } from '#services/control_api/client.ts';
import type { KeyItem } from '#services/control_api/sites.ts';
import {
  type Arguments,
  type Commands,
  type Context,
  done,
  type Outcome,
  option,
  repeatableOption,
  siteOption,
  UsageError,
} from '../command.ts';
import { readCount, readObject, readText } from '../read.ts';
import { createBucketInbox, readBucketAddress } from './bucket.ts';
import { httpEdge } from './edge_client.ts';
import {
  type Imported,
  type ImportPlan,
  type ImportPorts,
  importFile,
  type Preview,
  previewFile,
} from './import_file.ts';
import {
  describeMapping,
  type Mapping,
  NEGATIVES,
  readMappingFile,
  readPairs,
  resolveMapping,
  type WantedMapping,
} from './mapping.ts';
import type { Counts } from './progress.ts';
import { ENCODINGS, type Encoding, FORMATS, type Format, fileVersion, readForm, type WantedForm } from './read_rows.ts';
import { DATE_FORMS, type DateForm, type Decimal } from './read_values.ts';
import { maskedEvent } from './row_event.ts';
import { watchFolder } from './watch_folder.ts';

const SOURCES = ['physical_store', 'phone_call', 'chat', 'email', 'system_generated', 'website'];
const SOURCE = 'physical_store';
const EVERY_S = '10';
/** Some minutes, pauses included. */
const ATTEMPTS_MAX = 12;

/** Where events are sent, and with what. */
export const EDGE_OPTIONS = [
  option('edge <URL>', 'Address of the edge (SVC_EDGE_URL, or what runs here)'),
  option('key-file <FILE>', 'File with a server key of the site (SVC_SERVER_KEY)'),
];

const OPTIONS = [
  siteOption,
  repeatableOption(
    'map <FIELD=COLUMN>',
    'Fields and their columns, as order_id=Bon,time=Datum+Zeit; guessed otherwise',
  ),
  repeatableOption('set <FIELD=VALUE>', 'A field with the same value in all rows, as currency=EUR'),
  option('mapping <FILE>', 'JSON with columns, set, values, id, zone, dates, decimal, negative'),
  option('only-mapped', 'Guess no fields by the names of columns'),
  option('source <SOURCE>', `Where sales happened (${SOURCE})`).choices(SOURCES),
  option('id <COLUMNS>', 'Columns that together name a sale, as Kasse+Bon (the order id)'),
  option('zone <ZONE>', 'Time zone of times without offset, such as Europe/Berlin'),
  option('dates <FORM>', 'How times are written (auto: what can be read in one way only)').choices([...DATE_FORMS]),
  option('decimal <SIGN>', 'Sign before the decimals (auto)').choices(['auto', ',', '.']),
  option('negative <WHAT>', 'What purchases below zero are (error)').choices([...NEGATIVES]),
  option('format <FORMAT>', 'What the file is (by its name)').choices([...FORMATS]),
  option('separator <SIGN>', 'Separator of CSV: one character, or tab (by the header)'),
  option('encoding <ENCODING>', 'Encoding of CSV (utf-8)').choices([...ENCODINGS]),
  option('columns <NAMES>', 'Names of the columns of a file without header, separated by commas'),
  ...EDGE_OPTIONS,
];

export const importCommands: Commands = {
  'import run <FILE>': {
    isDefault: true,
    summary: 'Send the sales in a file as offline conversions; the verb may be left out',
    subject: '.csv, .tsv, .txt, .ndjson, .jsonl or .parquet',
    options: [
      ...OPTIONS,
      option('dry-run', 'Send nothing; show the mapping, the first events and the first errors'),
      option('again', 'Send a file again that was imported whole'),
      option('folder <FOLDER>', 'Where progress and errors are kept (beside the file)'),
    ],
    examples: [
      'import sales.csv --site shop --zone Europe/Berlin --set currency=EUR --dry-run',
      'import sales.csv --site shop --zone Europe/Berlin --decimal , --map order_id=Bon,value=Betrag,time=Datum+Zeit',
      'import orders.ndjson --site shop --source phone_call --key-file key.txt',
    ],
    async run(args, context) {
      const plan = await planOf(args.subject, wantedOf(args, context), args, context);
      if (args.flag('dry-run')) return shownPreview(plan, await previewFile(plan, Date.now()));
      return shownImport(args.subject, await importFile(plan, await portsOf(args, context)));
    },
  },
  'import watch <FOLDER>': {
    summary: 'Import the files that come into a folder or bucket, one at a time, until it is ended',
    subject: 'files go to done or failed in it once they are imported or cannot be; or s3://bucket/prefix',
    options: [
      ...OPTIONS,
      option('folder <FOLDER>', 'Of a bucket: where its files are fetched to, with progress and errors'),
      option('every <SECONDS>', `How often to look; a file is taken when it has not grown meanwhile (${EVERY_S})`),
      option('once', 'End when there are no more files'),
    ],
    examples: [
      'import watch /var/sales --site shop --zone Europe/Berlin --mapping till.json',
      'import watch s3://sales/tills/ --folder /var/lib/sales --site shop --zone Europe/Berlin',
    ],
    async run(args, context) {
      const wanted = wantedOf(args, context);
      const { folder, fetchNew } = inboxOf(args, context);
      const ports = await portsOf(args, context);
      const counts = await watchFolder(folder, {
        fetchNew: fetchNew ?? (async () => ({ hasMore: false, left: 0 })),
        keepsDone: fetchNew === null,
        everyMs: readCount(args.text('every') ?? EVERY_S, 'every') * 1000,
        isOnce: args.flag('once'),
        say: ports.say,
        sleep: ports.sleep,
        importOne: async (path) => {
          const plan = await planOf(path, wanted, args, context);
          return importFile({ ...plan, folder }, ports);
        },
        onImported: (path, imported) => ports.say(shownImport(path, imported).text),
      });
      const text = `${counts.imported} files imported, ${counts.failed} failed, ${counts.waiting} left for later`;
      return { ...done(text, counts), isPartial: counts.failed + counts.waiting > 0 };
    },
  },
};

/** The folder that is watched, and how files come into it; null: by others. @throws UsageError */
function inboxOf(args: Arguments, { s3, watch }: Context) {
  const folder = args.text('folder');
  if (!args.subject.startsWith('s3://')) return { folder: args.subject, fetchNew: null };
  const address = readBucketAddress(args.subject);
  if (address === null) throw new UsageError('bucket_malformed', 'a bucket is s3://name or s3://name/prefix');
  if (folder === undefined) throw new UsageError('flag_missing', '--folder is missing: where files are fetched to');
  const { accessKeyId, secretAccessKey, sessionToken, region, endpoint } = s3;
  if (accessKeyId === null || secretAccessKey === null) {
    throw new UsageError('bucket_keys_missing', 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  }
  mkdirSync(folder, { recursive: true });
  const bucket = { name: address.name, endpoint, credentials: { accessKeyId, secretAccessKey, sessionToken, region } };
  return { folder, fetchNew: createBucketInbox(bucket, address.prefix, folder, watch.say) };
}

type SalesPlan = ImportPlan & { mapping: Mapping };

/** What an import of a file is to do. @throws UsageError */
async function planOf(
  path: string,
  wanted: WantedMapping,
  args: Arguments,
  { clickhouse }: Context,
): Promise<SalesPlan> {
  const { version, form } = await formOf(path, args, clickhouse);
  const zone = wanted.zone ?? form.zone;
  if (zone !== null && !isZone(zone)) throw new UsageError('zone_unknown', `there is no time zone ${zone}`);
  const mapping = resolveMapping({ ...wanted, zone }, form.columns, !args.flag('only-mapped'));
  return {
    path,
    version,
    site: args.required('site'),
    form,
    clickhouse,
    mapping,
    folder: args.text('folder') ?? dirname(path),
    isAgain: args.flag('again'),
  };
}

function wantedOf(args: Arguments, context: Context): WantedMapping {
  const path = args.text('mapping');
  const file = path === undefined ? {} : readObject(readText(context, path), 'mapping_malformed', path);
  const said = readMappingFile(file, path ?? '');
  const id = args.text('id');
  return {
    columns: { ...said.columns, ...readPairs(args.texts('map'), 'map') },
    constants: {
      $action_source: args.text('source') ?? SOURCE,
      ...said.constants,
      ...readPairs(args.texts('set'), 'set'),
    },
    values: said.values ?? {},
    id: id === undefined ? (said.id ?? null) : [id],
    zone: args.text('zone') ?? said.zone ?? null,
    dates: (args.text('dates') as DateForm | undefined) ?? said.dates ?? 'auto',
    decimal: (args.text('decimal') as Decimal | undefined) ?? said.decimal ?? 'auto',
    negative: (args.text('negative') as WantedMapping['negative'] | undefined) ?? said.negative ?? 'error',
  };
}

async function formOf(path: string, args: Arguments, clickhouse: string | null) {
  const separator = args.text('separator');
  const sign = separator === 'tab' ? '\t' : (separator ?? null);
  if (sign !== null && !/^[\t\u0020-\u007e]$/.test(sign)) {
    throw new UsageError('separator_malformed', '--separator takes one character, or tab');
  }
  const wanted: WantedForm = {
    format: (args.text('format') as Format | undefined) ?? null,
    encoding: (args.text('encoding') as Encoding | undefined) ?? 'utf-8',
    separator: sign,
    columns: args.text('columns')?.split(',') ?? null,
    clickhouse,
  };
  return openFile(path, async () => ({ version: await fileVersion(path), form: await readForm(path, wanted) }));
}

/** What is read of a file. @throws UsageError where there is none that can be read */
export async function openFile<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) throw error;
    throw new UsageError('file_unreadable', `${path} cannot be read (${String(error.code)})`);
  }
}

function isZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** What an import sends with. @throws UsageError */
export async function portsOf(args: Arguments, context: Context): Promise<ImportPorts> {
  const { url, key } = edgeOf(args, context);
  await checkKey(key, args.required('site'), context);
  const { say, sleep } = context.watch;
  return {
    post: httpEdge(url, key),
    sleep,
    say,
    onWait: (code, ms) => {
      if (code !== 'rate_limited') say(`${code}: again in ${Math.ceil(ms / 1000)} s`);
    },
    attemptsMax: ATTEMPTS_MAX,
    nowMs: () => Date.now(),
  };
}

/** Where the edge is, and a server key for it: what was said, or for the site of `npm start` what it made. @throws UsageError */
function edgeOf(args: Arguments, context: Context): { url: string; key: string } {
  const ready = JSON.parse(context.readLocal('ready.json') ?? '{}') as Partial<Record<string, unknown>>;
  const url = args.text('edge') ?? context.edge.url ?? ready['edge'];
  if (typeof url !== 'string' || !URL.canParse(url)) {
    throw new UsageError('edge_unknown', 'nothing runs here: say --edge, or set SVC_EDGE_URL');
  }
  const file = args.text('key-file');
  const isLocal = url === ready['edge'] && args.required('site') === ready['site'];
  const said = file === undefined ? context.edge.key : readText(context, file).trim();
  const key = said ?? (isLocal ? ready['serverKey'] : null);
  if (typeof key !== 'string') throw new UsageError('key_missing', 'say --key-file, or set SVC_SERVER_KEY');
  // No part of it is shown: it may be anything.
  if (!isKeyFormat(key) || !key.startsWith('svc_sk_')) {
    throw new UsageError('key_malformed', 'what was given is no server key (svc_sk_…)');
  }
  return { url, key };
}

/** Refuses a key of another site, where a control service can be asked: the edge goes by the key alone. */
async function checkKey(key: string, site: string, context: Context): Promise<void> {
  let found: KeyItem | undefined;
  try {
    found = await context.client.find<KeyItem>(pathOf('keys', hashKey(key)));
  } catch (error) {
    // A till has neither its address nor a token, or one that may not read keys.
    const isAway =
      error instanceof UsageError || error instanceof ControlUnavailableError || error instanceof ControlRefusal;
    if (isAway) return;
    throw error;
  }
  if (found === undefined || found.site_id === site) return;
  throw new UsageError('key_of_other_site', `the key is one of site ${found.site_id}, not of ${site}`);
}

const number = (count: number): string => count.toLocaleString('en-US');
const failedIn = ({ failed }: Counts): number => Object.values(failed).reduce((sum, count) => sum + count, 0);

/** What became of rows, in lines. */
export function shownCounts(counts: Counts, accepted: string): string[] {
  const { rows, filtered, late, repeated, failed } = counts;
  const codes = Object.entries(failed).map(([code, count]) => `${code}=${count}`);
  return [
    `${number(rows)} rows: ${number(counts.accepted)} ${accepted}, ${number(repeated)} repeated, ${number(failedIn(counts))} with errors`,
    ...(codes.length === 0 ? [] : [`  ${codes.join(', ')}`]),
    ...(filtered === 0
      ? []
      : [`  ${number(filtered)} not counted by the edge: robots, or blocked by the site's rules`]),
    ...(late === 0 ? [] : [`  ${number(late)} of more than 7 days ago, which platforms match poorly`]),
  ];
}

/** What an import came to. */
export function shownImport(path: string, { counts, errorsPath, finishedAt }: Imported): Outcome {
  const lines = [
    ...(finishedAt === null ? [] : [`${path} was imported at ${finishedAt}; --again sends it once more.`]),
    `${path}: ${shownCounts(counts, 'accepted').join('\n')}`,
    ...(errorsPath === null
      ? []
      : [`Rows with errors are in ${errorsPath}; corrected, it can be imported like any file.`]),
  ];
  const json = { ...counts, errors_file: errorsPath, finished_before: finishedAt };
  return { ...done(lines, json), isPartial: failedIn(counts) > 0 };
}

function shownPreview({ path, form, mapping }: SalesPlan, { counts, events, failed }: Preview): Outcome {
  const shown = events.map(maskedEvent);
  const lines = [
    'Mapping:',
    ...describeMapping(mapping, form.columns),
    '',
    'First events (people masked):',
    ...shown.map((event) => `  ${JSON.stringify(event)}`),
    '',
    ...(failed.length === 0
      ? []
      : ['First errors:', ...failed.map(({ line, code, reason }) => `  line ${line}: ${code}: ${reason}`), '']),
    `${path}: ${shownCounts(counts, 'to send').join('\n')}`,
    'Nothing was sent.',
  ];
  return done(lines, { mapping, events: shown, errors: failed, counts });
}
