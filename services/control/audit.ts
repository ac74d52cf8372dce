import { Type } from 'typebox';
import type { AuditRecord } from '#pipelines/settings/audit.ts';
import type { AuditItem } from '#services/control_api/audit_shapes.ts';
import { auditPage } from '#services/control_api/audit_shapes.ts';
import { closed, limitField, nothing } from '#services/control_api/fields.ts';
import { done, type Route, route } from './route.ts';

const LIMIT = 100;
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
