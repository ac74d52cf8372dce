import { Type } from 'typebox';
import { ID_PATTERN } from '#pipelines/settings/id_pattern.ts';
import { closed, idField, labelField, type Meta, metaFields, nameField, refusedAs } from './fields.ts';

const BOARD_QUESTIONS_MAX = 50;

const owner = labelField('Whose it is: the label of an admin token');
const revision = Type.Integer({ minimum: 1, description: 'Counts what it said so far' });

const questionFields = {
  id: idField('Its id'),
  name: nameField('What people call it'),
  query: Type.String({
    pattern: '^[a-z]{1,32}$',
    description: 'What is asked: the last part of a path of `/v1/query`',
  }),
  question: Type.Record(Type.String(), Type.Unknown(), { description: 'The body that is sent there' }),
};

const boardFields = {
  id: idField('Its id'),
  name: nameField('What people call it'),
  questions: Type.Array(Type.String({ pattern: ID_PATTERN.source, ...refusedAs('id_malformed') }), {
    maxItems: BOARD_QUESTIONS_MAX,
    description: 'Ids of saved questions, in their order',
  }),
};

/** A saved item as it is written. Without an owner it is of whoever makes it, and stays with whom it is. */
export const savedInputs = {
  question: closed({ ...questionFields, owner: Type.Optional(owner) }),
  board: closed({ ...boardFields, owner: Type.Optional(owner) }),
} as const;

export const savedShapes = {
  question: Type.Object({ ...questionFields, owner, revision, ...metaFields }),
  board: Type.Object({ ...boardFields, owner, revision, ...metaFields }),
} as const;

/** What the command line reads of either kind. */
export type SavedView = Meta & { id: string; name: string; owner: string; revision: number };

export const savedParams = closed({ site_id: idField('The site it belongs to'), id: idField('Its id') });
