// The command that exports the events of a site into files.

import { type Arguments, type Commands, done, option, requiredOption, siteOption, UsageError } from '../command.ts';
import { readMoment } from '../read.ts';
import { EXPORT_COLUMNS, EXPORT_FORMATS, type ExportFormat, type ExportPlan, exportEvents } from './export_events.ts';

export const exportCommands: Commands = {
  'export run': {
    isDefault: true,
    summary: 'Write the events of a site into files, in parts; the verb may be left out',
    options: [
      siteOption,
      requiredOption('from <WHEN>', 'Events since then: a date, a time with its offset, or 30d (ago)'),
      option('to <WHEN>', 'The end, which is not part of it (now)'),
      option('format <FORMAT>', 'Of the files (ndjson)').choices([...EXPORT_FORMATS]),
      requiredOption('out <FOLDER>', 'Where they are written; the same command goes on there'),
      option('columns <NAMES>', 'Only these columns, separated by commas'),
    ],
    examples: [
      'export --site shop --from 2027-01-01 --to 2027-02-01 --out january',
      'export --site shop --from 30d --to now --format parquet --out last --columns event_id,event,timestamp,value',
    ],
    async run(args, { client, nowMs, watch }) {
      const folder = args.required('out');
      const state = await exportEvents(planOf(args, nowMs), folder, { client, ...watch });
      return done(`${state.rows} events in ${state.parts} files in ${folder}.`, state);
    },
  },
};

function planOf(args: Arguments, nowMs: number): ExportPlan {
  const said = { from: args.required('from'), to: args.text('to') ?? 'now' };
  const fromMs = readMoment(said.from, 'from', nowMs);
  const toMs = readMoment(said.to, 'to', nowMs);
  if (fromMs >= toMs) throw new UsageError('range_empty', '--from is not before --to');
  const columns = args.text('columns')?.split(',') ?? EXPORT_COLUMNS;
  const unknown = columns.find((name) => !EXPORT_COLUMNS.includes(name));
  if (unknown !== undefined) {
    throw new UsageError('column_unknown', `there is no column ${unknown}; there are: ${EXPORT_COLUMNS.join(', ')}`);
  }
  const format = (args.text('format') as ExportFormat | undefined) ?? 'ndjson';
  return { site: args.required('site'), said, fromMs, toMs, format, columns };
}
