import type { AuditItem, AuditPage } from '#services/control_api/audit_shapes.ts';
import { renderList, renderTable, renderTime } from '#services/render.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { readCount } from './values.ts';

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
