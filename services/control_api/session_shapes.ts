import { type Static, Type } from 'typebox';
import { PERMISSIONS, ROLES } from '#pipelines/settings/access.ts';
import { closed, idField, nullable, timeField } from './fields.ts';

/** As long as anybody types, and short enough to be hashed. */
const PASSWORD_CHARACTERS_MAX = 256;

export const userIdField = idField('The user');
const roleField = Type.Enum([...ROLES], { description: 'What may be done in the place' });
const accountOf = nullable(idField('The account with all its sites'));
const siteOf = nullable(idField('The one site'));

/** A role in a place, as it is given. */
export const grantInput = closed(
  { role: roleField, account_id: Type.Optional(accountOf), site_id: Type.Optional(siteOf) },
  { description: 'A role in an account or in a site; with neither of them in the whole installation' },
);

export const grantShape = Type.Object(
  { role: Type.String({ description: 'What may be done in the place' }), account_id: accountOf, site_id: siteOf },
  { description: 'A role in a site, in an account with its sites, or where both are null in the whole installation' },
);

export const passwordField = (description: string, charactersMin = 1) =>
  Type.String({ description, minLength: charactersMin, maxLength: PASSWORD_CHARACTERS_MAX });

export const codeField = Type.String({
  description: 'Six digits of the second factor, or a recovery code',
  minLength: 6,
  maxLength: 40,
});
/** What shows again who it is, in a session. */
export const proofFields = {
  password: passwordField('The password as it is'),
  code: Type.Optional(codeField),
};

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
  provider_links: Type.Integer({ description: 'Accounts at providers that sign in as them', minimum: 0 }),
  session: nullable(
    Type.Object({
      id: Type.String(),
      created_at: timeField('When it began'),
      ends_at: timeField('When it ends at the latest'),
      idle_ends_at: timeField('When it ends unless something is asked before'),
    }),
    { description: 'Null: an admin token asks' },
  ),
});
export type Who = Static<typeof whoShape>;
