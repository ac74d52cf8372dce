import type { AuditItem, AuditPage, DataReadPage } from '#services/control_api/audit_shapes.ts';
import { renderList, renderTable, renderTime } from '#services/render.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { readCount, readMoment } from './values.ts';

export const auditCommands: Command[] = [
  {
    noun: 'audit',
    verb: 'list',
    summary: 'List who changed what, and when, newest first',
    subject: null,
    options: {
      limit: { kind: 'text', value: 'NUMBER', help: 'How many changes, at most 1000 (100)' },
      before: { kind: 'text', value: 'SEQ', help: 'Only changes before this number' },
      of: { kind: 'text', value: 'FACT', help: 'Only of this fact, such as site/shop; or below it: destination/shop/' },
      by: { kind: 'text', value: 'LABEL', help: 'Only by the admin token of this label' },
    },
    examples: ['audit list', 'audit list --of destination/shop/ --limit 20', 'audit list --by deploy --json'],
    run: listChanges,
  },
  {
    noun: 'audit',
    verb: 'reads',
    summary: 'List who read data of people, and how much of it, newest first',
    subject: null,
    options: {
      limit: { kind: 'text', value: 'NUMBER', help: 'How many entries, at most 1000 (100)' },
      before: { kind: 'text', value: 'SEQ', help: 'Only entries before this number' },
      site: { kind: 'text', value: 'SITE', help: 'Only of this site' },
      by: { kind: 'text', value: 'LABEL', help: 'Only by the admin token of this label, or this user' },
      kind: { kind: 'text', value: 'KIND', help: 'Only this: sql, timeline, actors, live, event, dead_letter, ...' },
      since: { kind: 'text', value: 'MOMENT', help: 'Only from then on: a date, or 3d, 12h ago' },
    },
    examples: ['audit reads', 'audit reads --site shop --by ada --since 7d', 'audit reads --kind sql --json'],
    run: listReads,
  },
];

async function listChanges(args: Arguments, { client }: Context): Promise<Outcome> {
  const page = await client.get<AuditPage>('/audit', {
    limit: readCount(args, 'limit'),
    before: readCount(args, 'before'),
    setting_key: args.text('of'),
    changed_by: args.text('by'),
  });
  const headings = ['SEQ', 'WHEN', 'WHO', 'ACTION', 'WHAT', 'FIELDS'];
  return { text: renderTable(headings, page.items.map(row), 'There are no changes.'), json: page.items };
}

function row(item: AuditItem): string[] {
  const names = Object.keys({ ...item.before, ...item.after }).filter((name) => name !== 'secrets');
  const secrets = item.secrets_changed.map((name) => `secret ${name}`);
  const fields = item.action === 'change' ? [...names, ...secrets] : [];
  return [
    String(item.seq),
    renderTime(item.changed_at),
    item.changed_by,
    item.action,
    item.setting_key,
    renderList(fields),
  ];
}

async function listReads(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const since = args.text('since');
  const page = await client.get<DataReadPage>('/audit/reads', {
    limit: readCount(args, 'limit'),
    before: readCount(args, 'before'),
    site_id: args.text('site'),
    read_by: args.text('by'),
    kind: args.text('kind'),
    since: since === undefined ? undefined : readMoment(since, 'since', nowMs),
  });
  const headings = ['SEQ', 'FIRST', 'LAST', 'WHO', 'SITE', 'WHAT', 'AS', 'TIMES', 'ROWS'];
  const rows = page.items.map(({ seq, first_at, last_at, read_by, site_id, kind, format, reads, rows }) => [
    ...[String(seq), renderTime(first_at), renderTime(last_at), read_by, site_id, kind, format, String(reads)],
    rows === null ? '-' : String(rows),
  ]);
  const table = renderTable(headings, rows, 'Nobody read data of people.');
  const more = page.next === null ? '' : `\nMore: audit reads --before ${page.next}`;
  return { text: table + more, json: page };
}
