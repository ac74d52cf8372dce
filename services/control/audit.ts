import { type Static, Type } from 'typebox';
import type { AuditRecord } from '#pipelines/settings/audit.ts';
import { done, type Route, route } from './route.ts';
import { closed, limitField, nothing, nullable, timeField } from './shapes.ts';

const LIMIT = 100;
const fields = nullable(Type.Record(Type.String(), Type.Unknown()));

const auditShape = Type.Object({
  seq: Type.Integer({ description: 'Counts changes from 1' }),
  changed_at: timeField('When'),
  changed_by: Type.String({ description: 'Label of the admin token' }),
  setting_key: Type.String({ description: 'What was changed, as site/shop or destination/shop/meta' }),
  action: Type.Enum(['create', 'change', 'delete']),
  before: fields,
  after: fields,
  secrets_changed: Type.Array(Type.String(), { description: 'Names of secrets that were set, replaced or removed' }),
});
export type AuditItem = Static<typeof auditShape>;

const auditPage = Type.Object({
  items: Type.Array(auditShape),
  next: nullable(Type.Integer(), { description: 'Give it as `before` for the next page; null on the last one' }),
});
export type AuditPage = Static<typeof auditPage>;

export const auditRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/admin/audit',
    operationId: 'listChanges',
    tag: 'Audit',
    summary: 'List the newest 10,000 changes, newest first: who changed what, when, from what to what',
    params: nothing,
    query: closed({
      limit: limitField,
      before: Type.Optional(Type.Integer({ description: 'Only changes before this number', minimum: 1 })),
      setting_key: Type.Optional(
        Type.String({ description: 'Only changes of this fact, or below it where it ends in /', maxLength: 200 }),
      ),
      changed_by: Type.Optional(Type.String({ description: 'Only changes of this token label', maxLength: 100 })),
    }),
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: auditPage, description: 'Changes; secrets are named, never shown' },
    errors: [],
    run({ query }, { view }) {
      const { limit = LIMIT, before = null } = query;
      const found = view.audit.list(limit + 1, before, (record) => isWanted(record, query));
      const taken = found.slice(0, limit);
      const next = found.length > limit ? (taken.at(-1)?.seq ?? null) : null;
      return done([], () => ({ body: { items: taken.map(itemOf), next } }));
    },
  }),
];

function isWanted(record: AuditRecord, wanted: { setting_key?: string; changed_by?: string }): boolean {
  const { setting_key: key, changed_by: by } = wanted;
  if (by !== undefined && record.changed_by !== by) return false;
  if (key === undefined) return true;
  return key.endsWith('/') ? record.setting_key.startsWith(key) : record.setting_key === key;
}

function itemOf(record: AuditRecord): AuditItem {
  const { seq, changed_at, changed_by, setting_key, action, secrets_changed } = record;
  const sides = { before: parsed(record.before), after: parsed(record.after) };
  return { seq, changed_at, changed_by, setting_key, action, ...sides, secrets_changed };
}

function parsed(text: string | null): Record<string, unknown> | null {
  return text === null ? null : JSON.parse(text);
}
