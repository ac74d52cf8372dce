// Schemas of access to what is known of persons, and of its erasure.

import { type Static, Type } from 'typebox';
import { closed, countField, idField, nullable, timeField } from './fields.ts';

const typed = (description: string, maxLength = 500) =>
  Type.Optional(Type.String({ description, minLength: 1, maxLength }));

/** What names a person: never kept, only its digests. */
export const subjectFields = {
  distinct_id: typed('A distinct id of the person', 10_000),
  person_id: Type.Optional(
    Type.String({ description: 'The person’s id, as events have it', pattern: '^p_[0-9a-f]{32}$' }),
  ),
  email: typed('An e-mail address of the person; hashed as events’ are, and not kept'),
  phone: typed('A phone number of the person, read by the plan of the site’s country; hashed, and not kept'),
  external_id: typed('The person’s id in the sender’s own system; hashed, and not kept'),
};
export const SUBJECT_NAMES = Object.keys(subjectFields) as (keyof typeof subjectFields)[];

export const personsParams = closed({ site_id: idField('The site') });

export const personInput = closed(subjectFields, { description: 'Exactly one of the fields' });

const destinationShape = Type.Object({
  name: Type.String({ description: "The destination's id" }),
  to_do: Type.String({ description: 'What is to be done there by hand' }),
});

export const foundShape = Type.Object({
  distinct_ids: countField('Distinct ids, of all persons that were merged into one; at most 1,000'),
  persons: countField('Persons as derived from distinct ids, or linked to these'),
  identifiers: countField('E-mail addresses, phone numbers and customer numbers that are theirs'),
  tables: Type.Array(Type.Object({ table: Type.String(), rows: countField('Rows of theirs') }), {
    description: 'Tables of ClickHouse',
  }),
  links: countField('Records of identity.links'),
  topics: Type.Array(
    Type.Object({
      topic: Type.String(),
      days: Type.Integer({ description: 'For how long it keeps a record at most' }),
    }),
    { description: 'Topics that may hold events of theirs; how many is not known' },
  ),
  destinations: Type.Array(destinationShape, { description: 'Destinations of the site, which may have the data' }),
});
export type PersonFound = Static<typeof foundShape>;

const EVENTS_MAX = 5_000;
export const exportInput = closed({
  ...subjectFields,
  after: Type.Optional(
    Type.String({ description: 'The `next` of the page before', pattern: '^[0-9]{1,15}:', maxLength: 1_000 }),
  ),
  limit: Type.Optional(
    Type.Integer({
      description: 'Events of one page; large events make it shorter',
      minimum: 1,
      maximum: EVENTS_MAX,
      default: EVENTS_MAX,
    }),
  ),
});
export const EXPORT_EVENTS = EVENTS_MAX;

const anything = Type.Record(Type.String(), Type.Unknown());
export const exportShape = Type.Object({
  events: Type.Array(anything, { description: 'Events, oldest first, with every column' }),
  links: Type.Array(anything, { description: 'By what which distinct ids were joined; with the first page' }),
  next: nullable(Type.String(), { description: 'Where the next page begins; null: this is the last' }),
});
export type PersonExport = Static<typeof exportShape>;

export const DISTINCT_IDS_MAX = 20;
export const eraseInput = closed({
  ...subjectFields,
  distinct_ids_max: Type.Optional(
    Type.Integer({
      description: 'A person of more distinct ids is not erased: it may be several people',
      minimum: 1,
      maximum: 1_000,
      default: DISTINCT_IDS_MAX,
    }),
  ),
});

export const siteEraseInput = closed({
  confirm: Type.String({ description: 'The id of the site, once more: nothing of it comes back', maxLength: 64 }),
});

export const siteErasureParams = closed({ erasure_id: idField('The erasure') });

export const erasureParams = closed({ site_id: idField('The site'), erasure_id: idField('The erasure') });

export const erasureShape = Type.Object({
  erasure_id: Type.String(),
  site_id: Type.String(),
  phase: Type.Enum(['suppressing', 'draining', 'deleting', 'done'], {
    description:
      'suppressing: events are dropped, and links erased; draining: waits for what was under way; deleting: rows are deleted; done: this is the receipt',
  }),
  detail: Type.String({ description: 'What it waits for, by a stable code; empty where it does not wait' }),
  asked_by: Type.String({ description: 'A user, or the label of an admin token' }),
  asked_at: timeField('When it was requested'),
  done_at: nullable(timeField('When it was done'), { description: 'Null: it is not yet' }),
  suppressed_until: nullable(timeField('Until when their events are dropped'), { description: 'Null: it is not done' }),
  erased: Type.Array(Type.Object({ place: Type.String(), count: countField('Rows, keys or records') }), {
    description: 'What was erased where',
  }),
  left: Type.Array(Type.Object({ place: Type.String(), until: nullable(timeField('When it is gone at the latest')) }), {
    description: 'What goes by itself',
  }),
  destinations: Type.Array(
    Type.Object({
      ...destinationShape.properties,
      state: Type.Enum(['by_hand', 'pending', 'told', 'given_up'], {
        description:
          'by_hand: it can be told nothing; pending: it is told once the erasure is done, again and again for three days; told: it took the message; given_up: it did not',
      }),
      reason: Type.String({ description: 'Why it has not taken the message yet, by a stable code; else empty' }),
    }),
    { description: 'Destinations that the site had, which may have the data' },
  ),
});
export type ErasureItem = Static<typeof erasureShape>;
