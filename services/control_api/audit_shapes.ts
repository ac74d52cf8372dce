import { type Static, Type } from 'typebox';
import { nullable, timeField } from './fields.ts';

const fields = nullable(Type.Record(Type.String(), Type.Unknown()));

const auditShape = Type.Object({
  seq: Type.Integer({ description: 'Grows with each entry; some numbers are left out' }),
  changed_at: timeField('When'),
  changed_by: Type.String({ description: 'Label of the admin token' }),
  setting_key: Type.String({ description: 'What was changed, as site/shop or destination/shop/meta' }),
  action: Type.Enum(['create', 'change', 'delete']),
  before: fields,
  after: fields,
  secrets_changed: Type.Array(Type.String(), { description: 'Names of secrets that were set, replaced or removed' }),
});
export type AuditItem = Static<typeof auditShape>;

export const auditPage = Type.Object({
  items: Type.Array(auditShape),
  next: nullable(Type.Integer(), { description: 'Give it as `before` for the next page; null on the last one' }),
});
export type AuditPage = Static<typeof auditPage>;
