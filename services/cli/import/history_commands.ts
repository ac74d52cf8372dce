// The command that imports the past of a site from another product's exports.

import { basename, dirname } from 'node:path';
import {
  type Arguments,
  type Command,
  done,
  type Outcome,
  option,
  requiredOption,
  siteOption,
  UsageError,
} from '../command.ts';
import { readCount } from '../read.ts';
import { createPacer } from './edge_client.ts';
import { EDGE_OPTIONS, openFile, portsOf, shownCounts, shownImport } from './import_commands.ts';
import {
  HISTORY_FORMATS,
  type HistoryFormat,
  type ImportPlan,
  importFile,
  type Preview,
  previewFile,
} from './import_file.ts';
import { fileVersion, readLinesForm } from './read_rows.ts';

/** Half of what an address may send: live events of the same address have the other. */
const RATE = '500';
const RATE_MAX = 1_000_000;
const PLAUSIBLE = 'plausible';
/** How Plausible names the files of its export. */
const FIGURES =
  /^imported_(?:visitors|sources|pages|entry_pages|exit_pages|custom_events|locations|devices|browsers|operating_systems)_\d{8}/;

/** `import history`, beside the commands that import sales. */
export const historyCommand: Command = {
  summary: "Import the past of a site from another product's export of events; it goes to no destination",
  subject: 'newline-delimited JSON, also packed with gzip',
  options: [
    siteOption,
    requiredOption('format <FORMAT>', 'Whose export it is; ndjson: events as /v1/ingest takes them').choices([
      ...HISTORY_FORMATS,
      PLAUSIBLE,
    ]),
    ...EDGE_OPTIONS,
    option('dry-run', 'Send nothing; show the first events and the first errors'),
    option('again', 'Send a file again that was imported whole'),
    option('folder <FOLDER>', 'Where progress and errors are kept (beside the file)'),
    option('rate <EVENTS>', `Events per second at the most (${RATE}), so that live events find room`),
  ],
  examples: [
    'import history events.jsonl.gz --site shop --format posthog --key-file key.txt --dry-run',
    'import history events_2023*.json --site shop --format ga4 --key-file key.txt',
  ],
  async run(args, context) {
    const rate = readCount(args.text('rate') ?? RATE, 'rate');
    if (rate < 1 || rate > RATE_MAX) throw new UsageError('number_malformed', `--rate is 1 to ${RATE_MAX}`);
    const plans: ImportPlan[] = [];
    for (const path of args.subjects) plans.push(await planOf(path, args));
    if (plans.length === 0) throw new UsageError('argument_missing', 'say which files');
    const outcomes: Outcome[] = [];
    if (args.flag('dry-run')) {
      for (const plan of plans) outcomes.push(shownPreview(plan, await previewFile(plan, Date.now())));
      return together(outcomes);
    }
    const ports = await portsOf(args, context);
    const pace = createPacer(rate, ports);
    for (const plan of plans) outcomes.push(shownImport(plan.path, await importFile(plan, { ...ports, pace })));
    return together(outcomes);
  },
};

const together = (outcomes: readonly Outcome[]): Outcome => ({
  ...done(
    outcomes.map(({ text }) => text).join('\n'),
    outcomes.map(({ json }) => json),
  ),
  isPartial: outcomes.some(({ isPartial }) => isPartial === true),
});

async function planOf(path: string, args: Arguments): Promise<ImportPlan> {
  const format = args.required('format');
  if (format === PLAUSIBLE || FIGURES.test(basename(path))) {
    const message = 'Plausible exports figures of days, and no events: visitors cannot be made of them';
    throw new UsageError('events_missing', `${path}: ${message}`);
  }
  const [version, form] = await openFile(path, () => Promise.all([fileVersion(path), readLinesForm(path)]));
  return {
    path,
    version,
    site: args.required('site'),
    form,
    clickhouse: null,
    mapping: format as HistoryFormat,
    folder: args.text('folder') ?? dirname(path),
    isAgain: args.flag('again'),
  };
}

/** Events with the names of what they hold, which may be about people. */
function shownPreview({ path }: ImportPlan, { counts, events, failed }: Preview): Outcome {
  const shown = events.map(({ event, timestamp, properties }) => ({
    event,
    timestamp,
    properties: Object.keys(properties),
  }));
  const lines = [
    'First events:',
    ...shown.map((event) => `  ${JSON.stringify(event)}`),
    ...(failed.length === 0 ? [] : ['First errors:']),
    ...failed.map(({ line, code, reason }) => `  line ${line}: ${code}: ${reason}`),
    `${path}: ${shownCounts(counts, 'to send').join('\n')}`,
    'Nothing was sent.',
  ];
  return done(lines, { events: shown, errors: failed, counts });
}
