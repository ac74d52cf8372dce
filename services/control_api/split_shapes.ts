import { type Static, Type } from 'typebox';
import { closed, idField } from './fields.ts';

export const splitParams = closed({
  site_id: idField('The site'),
  person_id: Type.String({ description: 'The person that two people were taken for', minLength: 1, maxLength: 200 }),
});

export const splitInput = closed({
  distinct_ids: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    description: 'Distinct ids of the one who is not the person; the oldest of all stays',
    minItems: 1,
    maxItems: 100,
  }),
  identifiers: Type.Optional(
    Type.Array(
      closed({
        identifier: Type.Enum(['email', 'phone', 'external_id']),
        sha256: Type.String({ description: 'As platforms get it', pattern: '^[0-9a-f]{64}$' }),
      }),
      { description: 'What both have said and goes with these ids; all else that both have stays', maxItems: 100 },
    ),
  ),
  dry_run: Type.Optional(Type.Boolean({ description: 'True: nothing is changed, and said what would be' })),
});
export type SplitInput = Static<typeof splitInput>;

export const splitShape = Type.Object({
  person_id: Type.String({ description: 'Who stays' }),
  new_person_id: Type.String({ description: 'Who was taken out' }),
  moved: Type.Integer({ description: 'How many distinct ids that have said something of themselves are moved' }),
  stayed: Type.Integer({ description: 'How many stay' }),
  shared_identifiers: Type.Integer({ description: 'Identifiers that both had; each is one side’s from now on' }),
  rows: Type.Integer({ description: 'Rows that have the other person so far' }),
  is_done: Type.Boolean({ description: 'False: it was a dry run' }),
});
export type SplitAnswer = Static<typeof splitShape>;
