// Schemas of cohorts, and of what is added to their lists.

import { type Static, Type } from 'typebox';
import { conditionsFields } from '#pipelines/analytics/cohorts/cohort.ts';
import { closed, countField, idField, type Meta, metaFields, nameField, nullable } from './fields.ts';
import { subjectFields } from './persons.ts';

const fields = {
  id: idField('Its id, by which filters name it'),
  name: nameField('What people call it'),
  ...conditionsFields,
};

/** A cohort as it is written: by conditions, or without any as a list. */
export const cohortInput = closed(fields, {
  description: 'Without conditions it is a list, which members are added to',
});
export type CohortInput = Static<typeof cohortInput>;

export const cohortShape = Type.Object({
  ...fields,
  revision: Type.Integer({ minimum: 1, description: 'Counts what it said so far' }),
  ...metaFields,
});
export type CohortItem = Static<typeof cohortShape> & Meta;

export const kindOf = ({ conditions }: Pick<CohortItem, 'conditions'>): 'conditions' | 'list' =>
  conditions === undefined ? 'list' : 'conditions';

/** Of one request, whose body has 1 MiB at the most. */
export const ADDED_MAX = 10_000;
/** Of one list. */
export const MEMBERS_MAX = 100_000;
/** Of all lists of a cohort, those that are yet to take the place of its own among them. */
export const MEMBERS_TOGETHER_MAX = 4 * MEMBERS_MAX;
/** Of what is not taken so many are told by their places. */
export const REFUSED_TOLD = 100;

/** Why a member is not taken: it is none, or many people's as `undefined` is, or of somebody who was erased. */
const MEMBER_REFUSALS = ['unreadable', 'placeholder', 'erased'] as const;
export type MemberRefusal = (typeof MEMBER_REFUSALS)[number];

/** What tells lists of one cohort apart. */
export const LIST_CHARACTERS = 20;
const REPLACEMENT = `[0-9A-Za-z]{${LIST_CHARACTERS}}`;

export const membersInput = closed({
  replacement: Type.Optional(
    Type.String({
      description: "Adds to a list that is yet to take the place of the cohort's: new, and then as it was answered",
      pattern: `^(?:new|${REPLACEMENT})$`,
    }),
  ),
  members: Type.Array(closed(subjectFields, { description: 'Exactly one of the fields' }), {
    description: 'Hashed as events are, at once; addresses and numbers are not kept. A SHA-256 is taken too',
    minItems: 1,
    maxItems: ADDED_MAX,
  }),
});
export type MembersInput = Static<typeof membersInput>;

/** Of one request. */
export const REMOVED_MAX = 500;
const { members } = membersInput.properties;
export const removalInput = closed({
  members: Type.Array(members.items, { description: 'As they were added', minItems: 1, maxItems: REMOVED_MAX }),
});
export type RemovalInput = Static<typeof removalInput>;

export const membersRemovedShape = Type.Object({
  removed: countField('Members that the list had'),
  listed: countField('Members that it has now'),
});
export type MembersRemoved = Static<typeof membersRemovedShape>;

/** What takes the place of the list of a cohort. */
export const replacementInput = closed({
  replacement: Type.String({ description: 'As it was answered when it was filled', pattern: `^${REPLACEMENT}$` }),
});

export const membersAddedShape = Type.Object({
  taken: countField('Members that were added, or were there already'),
  refused: countField('Members that are none that events could have, or of a person who was erased'),
  refusals: Type.Array(
    Type.Object({
      at: Type.Integer({ minimum: 0, description: 'Its place in the request, from 0' }),
      code: Type.Enum([...MEMBER_REFUSALS]),
    }),
    { description: `The first ${REFUSED_TOLD} of them, and why` },
  ),
  listed: countField('Members that the list has now: of one person it may be several'),
  replacement: nullable(Type.String(), { description: 'The list that they were added to; null: that of the cohort' }),
});
export type MembersAdded = Static<typeof membersAddedShape>;
