import { type Static, Type } from 'typebox';
import { closed, hashField, metaFields, nameField, nullable, refusedAs, timeField } from './fields.ts';
import { grantInput, grantShape, userIdField } from './session_shapes.ts';

const tokenHash = hashField('SHA-256 of the token');
const label = nameField('Who or what holds it; recorded with every change');
const expiresAt = nullable(
  timeField('When it stops working; null: never. Left out: in 90 days'),
  refusedAs('expiry_malformed'),
);

export const tokenShape = Type.Object({
  token_hash: tokenHash,
  shown_prefix: Type.String({ description: 'The first characters of the token' }),
  label,
  created_at: timeField('When it was issued'),
  expires_at: expiresAt,
  revoked_at: nullable(timeField('When it was revoked')),
  grants: nullable(Type.Array(grantShape), { description: 'What it may; null: everything' }),
  issued_by: nullable(userIdField, {
    description: 'The user who issued it, by themselves or by a token of theirs; null: no user, or it is not known',
  }),
  state: Type.Enum(['active', 'expired', 'revoked']),
  ...metaFields,
});
export type TokenItem = Static<typeof tokenShape>;

export const issuedTokenShape = Type.Object({
  secret: Type.String({ description: 'The whole token: shown this once and stored nowhere' }),
  token: tokenShape,
});
export type IssuedTokenItem = Static<typeof issuedTokenShape>;

export const tokenParams = closed({ token_hash: tokenHash });
export const newToken = closed({
  label,
  expires_at: Type.Optional(expiresAt),
  grants: Type.Optional(
    Type.Array(grantInput, {
      description: 'What it may, none of it more than who issues it; left out: everything',
      minItems: 1,
    }),
  ),
});
