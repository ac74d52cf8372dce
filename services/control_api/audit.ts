// Schemas of the audit: changes, and reads of personal data.

import { type Static, Type } from 'typebox';
import { closed, idField, limitField, nullable, numberedPageOf, timeField } from './fields.ts';

const fields = nullable(Type.Record(Type.String(), Type.Unknown()));

const kind = Type.Enum(['change', 'sign_in', 'refusal'], {
  description: 'refusal: a failed sign-in or a denied request; change: a changed setting or another action',
});

export type AuditKind = Static<typeof kind>;

export const auditQuery = closed({
  limit: limitField,
  before: Type.Optional(Type.Integer({ description: 'Only changes before this number', minimum: 1 })),
  setting_key: Type.Optional(
    Type.String({ description: 'Only changes of this fact, or below it where it ends in /', maxLength: 200 }),
  ),
  changed_by: Type.Optional(
    Type.String({ description: 'Only changes of this token label or user, as user:ada or ada', maxLength: 100 }),
  ),
  kind: Type.Optional(kind),
  since: Type.Optional(timeField('Only what was done from then on')),
  until: Type.Optional(timeField('Only what was done before then')),
});
export type AuditQuery = Static<typeof auditQuery>;

const auditShape = Type.Object({
  seq: Type.Integer({ description: 'Grows with each entry; some numbers are left out' }),
  changed_at: timeField('When'),
  changed_by: Type.String({ description: 'Label of the admin token, or user:ID of a user' }),
  setting_key: Type.String({ description: 'What was changed, as site/shop or destination/shop/meta' }),
  action: Type.Enum(['create', 'change', 'delete']),
  before: fields,
  after: fields,
  secrets_changed: Type.Array(Type.String(), { description: 'Names of secrets that were set, replaced or removed' }),
});
export type AuditItem = Static<typeof auditShape>;

export const auditPage = numberedPageOf(auditShape);
export type AuditPage = Static<typeof auditPage>;

export const dataReadQuery = closed({
  limit: limitField,
  before: Type.Optional(Type.Integer({ description: 'Only entries before this number', minimum: 1 })),
  site_id: Type.Optional(idField('Only of this site')),
  read_by: Type.Optional(
    Type.String({ description: 'Only by this token label or user, as user:ada or ada', maxLength: 100 }),
  ),
  kind: Type.Optional(Type.String({ description: 'Only this, as sql or timeline', maxLength: 50 })),
  since: Type.Optional(timeField('Only what was read from then on')),
  until: Type.Optional(timeField('Only what was read before then')),
});
export type DataReadQuery = Static<typeof dataReadQuery>;

const dataReadShape = Type.Object({
  seq: Type.Integer({ description: 'Grows with each entry; some numbers are left out' }),
  first_at: timeField('When it was read first'),
  last_at: timeField('When it was read last'),
  read_by: Type.String({ description: 'Label of the admin token, or user:ID of a user' }),
  site_id: idField('Whose people'),
  kind: Type.String({
    description: 'Kind of query: timeline, actors, live, sql, event, dead_letter, or a query that singles people out',
  }),
  format: Type.Enum(['json', 'csv', 'parquet']),
  reads: Type.Integer({ description: 'How many times', minimum: 1 }),
  rows: nullable(Type.Integer({ minimum: 0 }), {
    description: 'What all of them answered; null where rows were not counted, as in a Parquet file of SQL',
  }),
});

export const dataReadPage = numberedPageOf(dataReadShape);
export type DataReadPage = Static<typeof dataReadPage>;
