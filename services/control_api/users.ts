// Schemas of users, their sessions, sign-ins at providers and admin tokens.

import { type Static, Type } from 'typebox';
import { PERMISSIONS, ROLES } from '#pipelines/settings/access.ts';
import { isAcceptable, PASSWORD_CHARACTERS_MIN, PASSWORD_RULE } from '#pipelines/settings/secrets.ts';
import {
  closed,
  countField,
  hashField,
  idField,
  metaFields,
  nameField,
  nullable,
  refusedAs,
  timeField,
} from './fields.ts';

/** As long as anybody types, and short enough to be hashed. */
const PASSWORD_CHARACTERS_MAX = 256;

const passwordField = (description: string, charactersMin = 1) =>
  Type.String({ description, minLength: charactersMin, maxLength: PASSWORD_CHARACTERS_MAX });

/** Every password that somebody chooses is judged here. */
const newPassword = Type.Refine(
  passwordField(PASSWORD_RULE, PASSWORD_CHARACTERS_MIN),
  isAcceptable,
  () =>
    `must have ${PASSWORD_CHARACTERS_MIN} characters that are drawn, not all blank or the same, and no control characters`,
);
const name = nameField('What people know them by; no e-mail address');
const roleField = Type.Enum([...ROLES], { description: 'What may be done in the place' });
const accountOf = nullable(idField('The account with all its sites'));
const siteOf = nullable(idField('The one site'));

/** A role in a place, as it is given. */
export const grantInput = closed(
  { role: roleField, account_id: Type.Optional(accountOf), site_id: Type.Optional(siteOf) },
  { description: 'A role in an account or in a site; with neither of them in the whole installation' },
);
const grants = Type.Array(grantInput, { description: 'What the user may', minItems: 1, maxItems: 100 });

export const userIdField = idField('The user');

export const grantShape = Type.Object(
  { role: Type.String({ description: 'What may be done in the place' }), account_id: accountOf, site_id: siteOf },
  { description: 'A role in a site, in an account with its sites, or where both are null in the whole installation' },
);

export const userShape = Type.Object({
  user_id: userIdField,
  name,
  created_at: timeField('When it was made'),
  disabled_at: nullable(timeField('When it was disabled'), { description: 'Null: it is not' }),
  has_password: Type.Boolean(),
  second_factor: Type.Boolean({ description: 'Whether signing in takes a code beside the password' }),
  recovery_codes_left: Type.Integer({ description: 'Recovery codes that were not used' }),
  provider_links: countField('Accounts at providers that sign in as them'),
  grants: Type.Array(grantShape, { description: 'Those in places where who asks manages users' }),
  has_other_grants: Type.Boolean({ description: 'Whether there are others' }),
  ...metaFields,
});
export type UserItem = Static<typeof userShape>;

const revokedIssuedShape = Type.Object({
  tokens: Type.Array(Type.String(), { description: 'Labels of the admin tokens that were revoked' }),
  tokens_left: Type.Boolean({
    description: 'Whether other tokens keep working; another user must revoke them, or the last remains',
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
  disabled: Type.Optional(Type.Boolean({ description: 'True: sign-in is blocked and all sessions end' })),
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
  seen_at: timeField('When it last made a request, to the minute'),
  network: Type.String({ description: 'Where it began: an IPv4 address, or the /48 of an IPv6 address' }),
  browser: Type.String({ description: 'Browser and system' }),
  current: Type.Boolean({ description: 'Whether it is the one that asks' }),
});
export const sessionListShape = Type.Object({ items: Type.Array(sessionItemShape) });
export type SessionList = Static<typeof sessionListShape>;
export const sessionParams = closed({ session_id: hashField('The session') });

const codeField = Type.String({
  description: 'Six digits of the second factor, or a recovery code',
  minLength: 6,
  maxLength: 40,
});
/** What shows again who it is, in a session. */
const proofFields = {
  password: passwordField('The password as it is'),
  code: Type.Optional(codeField),
};

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

export const newSession = closed({
  user_id: userIdField,
  password: passwordField('The password'),
  code: Type.Optional(codeField),
});

/** Who asks, and what they may. */
export const whoShape = Type.Object({
  kind: Type.Enum(['user', 'token']),
  id: Type.String({ description: "The user's id, or the token's hash" }),
  name: Type.String({ description: "The user's name, or the token's label" }),
  grants: Type.Array(
    Type.Object({
      ...grantShape.properties,
      permissions: Type.Array(Type.Enum([...PERMISSIONS]), { description: 'What the role permits in the place' }),
    }),
  ),
  has_password: Type.Boolean({ description: 'Whether a password signs in, which proves who it is as well' }),
  second_factor: Type.Boolean({ description: 'Whether signing in takes a code beside the password' }),
  second_factor_required: Type.Boolean({
    description: 'Whether a second factor must be set up before anything else is answered',
  }),
  provider_links: countField('Accounts at providers that sign in as them'),
  session: nullable(
    Type.Object({
      id: Type.String(),
      created_at: timeField('When it began'),
      ends_at: timeField('When it ends at the latest'),
      idle_ends_at: timeField('When it ends without a further request'),
    }),
    { description: 'Null: an admin token asks' },
  ),
});
export type Who = Static<typeof whoShape>;

const provider = Type.String({ description: 'A provider, by its id', pattern: '^[a-z0-9_-]{1,32}$' });
const INVITATION = '^[A-Za-z0-9_-]{43}$';

export const providersShape = Type.Object({
  items: Type.Array(Type.Object({ id: provider, label: Type.String({ description: 'What people know it by' }) })),
});
export type Providers = Static<typeof providersShape>;

export const providerStart = closed({
  provider,
  invitation: Type.Optional(Type.String({ description: 'Links the account at the provider', pattern: INVITATION })),
  proof: Type.Optional(
    Type.Boolean({
      description: 'Forces the provider to authenticate again (prompt=login)',
    }),
  ),
});
export const linkStart = closed({
  provider,
  password: Type.Optional(passwordField('Your password, where you have one')),
  code: proofFields.code,
});
export const startedShape = Type.Object({ url: Type.String({ description: 'Where the browser goes' }) });
export type Started = Static<typeof startedShape>;

export const providerFinish = closed({
  provider,
  answer: Type.String({
    description: 'The query that the provider sent the browser back with, without its question mark',
    minLength: 1,
    maxLength: 8_000,
  }),
});
export const unlinking = closed(proofFields);

export const invitationShape = Type.Object({
  invitation: Type.String({ description: 'Shown this once, works once', pattern: INVITATION }),
  expires_at: timeField('When it stops working'),
});
export type Invitation = Static<typeof invitationShape>;

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
