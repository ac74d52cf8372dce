import { type Static, Type } from 'typebox';
import { closed, idField, metaFields, nameField, nullable, refusedAs } from './fields.ts';

const ALLOWANCE_MAX = 1_000_000_000_000;

const accountId = idField('Chosen at creation, for good');
const name = nameField('Name shown to people');
const allowance = Type.Integer({
  description: 'Events per UTC month, before the grace of 20%',
  minimum: 0,
  maximum: ALLOWANCE_MAX,
  ...refusedAs('allowance_malformed'),
});

export const accountShape = Type.Object({
  account_id: accountId,
  name,
  monthly_allowance: allowance,
  used_this_month: nullable(Type.Integer({ description: 'Events settled in this UTC month', minimum: 0 }), {
    description: 'Events settled in this UTC month, duplicates not counted; null where that is not known',
  }),
  ...metaFields,
});
export type AccountItem = Static<typeof accountShape>;

export const accountParams = closed({ account_id: accountId });
export const newAccount = closed({ account_id: accountId, name: Type.Optional(name), monthly_allowance: allowance });
export const accountChange = closed({ name: Type.Optional(name), monthly_allowance: Type.Optional(allowance) });
