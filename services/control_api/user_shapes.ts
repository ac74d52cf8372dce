import { type Static, Type } from 'typebox';
import { isAcceptable, PASSWORD_CHARACTERS_MIN, PASSWORD_RULE } from '#pipelines/settings/password_rules.ts';
import { closed, hashField, metaFields, nameField, nullable, timeField } from './fields.ts';
import { codeField, grantInput, grantShape, passwordField, proofFields, userIdField } from './session_shapes.ts';

/** Every password that somebody chooses is judged here. */
const newPassword = Type.Refine(
  passwordField(PASSWORD_RULE, PASSWORD_CHARACTERS_MIN),
  isAcceptable,
  () =>
    `must have ${PASSWORD_CHARACTERS_MIN} characters that are drawn, not all blank or the same, and no control characters`,
);
const name = nameField('What people know them by; no e-mail address');
const grants = Type.Array(grantInput, { description: 'What the user may', minItems: 1, maxItems: 100 });

export const userShape = Type.Object({
  user_id: userIdField,
  name,
  created_at: timeField('When it was made'),
  disabled_at: nullable(timeField('When it was disabled'), { description: 'Null: it is not' }),
  has_password: Type.Boolean(),
  second_factor: Type.Boolean({ description: 'Whether signing in takes a code beside the password' }),
  recovery_codes_left: Type.Integer({ description: 'Recovery codes that were not used' }),
  provider_links: Type.Integer({ description: 'Accounts at providers that sign in as them', minimum: 0 }),
  grants: Type.Array(grantShape, { description: 'Those in places where who asks manages users' }),
  has_other_grants: Type.Boolean({ description: 'Whether there are others' }),
  ...metaFields,
});
export type UserItem = Static<typeof userShape>;

const revokedIssuedShape = Type.Object({
  tokens: Type.Array(Type.String(), { description: 'Labels of the admin tokens that were revoked' }),
  tokens_left: Type.Boolean({
    description: 'Whether others go on working: somebody else must revoke them, or the last of all stays',
  }),
  analysts: nullable(Type.Array(Type.String()), {
    description: 'Ids of the users of ClickHouse that were revoked; null: it did not answer, and some may be left',
  }),
  analysts_left: Type.Boolean({ description: 'Whether others may be left' }),
});
export type RevokedIssued = Static<typeof revokedIssuedShape>;
export const changedUserShape = Type.Object({
  ...userShape.properties,
  revoked_issued: Type.Optional(revokedIssuedShape),
});
export type ChangedUser = Static<typeof changedUserShape>;

export const userParams = closed({ user_id: userIdField });
export const newUser = closed({
  user_id: userIdField,
  name: Type.Optional(name),
  grants,
  password: Type.Optional(newPassword),
});
export const userChange = closed({
  name: Type.Optional(name),
  grants: Type.Optional(
    Type.Array(grantInput, {
      description: 'In the places where who asks manages users; the others stay',
      maxItems: 100,
    }),
  ),
  disabled: Type.Optional(Type.Boolean({ description: 'True: nobody signs in as them, and their sessions end' })),
  password: Type.Optional(
    nullable(newPassword, { description: 'A new password, or null for none; their sessions end' }),
  ),
  second_factor: Type.Optional(Type.Literal(false, { description: 'Removes the second factor' })),
  revoke_issued: Type.Optional(
    Type.Literal(true, {
      description:
        'Revokes the admin tokens that they issued, by themselves or by a token of theirs, and the users of ClickHouse that they made, as far as who asks may',
    }),
  ),
  provider_links: Type.Optional(
    Type.Literal(0, { description: 'Unlinks their accounts at providers; their sessions end' }),
  ),
});

const sessionItemShape = Type.Object({
  id: hashField('The session'),
  created_at: timeField('When it began'),
  seen_at: timeField('When something was last asked in it, to the minute'),
  network: Type.String({ description: 'Where it began: an IPv4 address, or the /48 of an IPv6 address' }),
  browser: Type.String({ description: 'Browser and system' }),
  current: Type.Boolean({ description: 'Whether it is the one that asks' }),
});
export const sessionListShape = Type.Object({ items: Type.Array(sessionItemShape) });
export type SessionList = Static<typeof sessionListShape>;
export const sessionParams = closed({ session_id: hashField('The session') });

export const sessionProof = closed(proofFields);

export const passwordChange = closed({ ...proofFields, new_password: newPassword });

export const newTotpShape = Type.Object({
  secret: Type.String({ description: 'In base32, as authenticator apps take it' }),
  uri: Type.String({ description: 'The same for a QR code' }),
});
const code = Type.String({ description: 'Six digits from the app', pattern: '^\\d{6}$' });
export const totpConfirmation = closed({ code, password: passwordField('The password') });
export const recoveryCodesShape = Type.Object({
  recovery_codes: Type.Array(Type.String(), { description: 'Each signs in once in place of a code; shown this once' }),
});
export const totpRemoval = closed({ ...proofFields, code: codeField });
