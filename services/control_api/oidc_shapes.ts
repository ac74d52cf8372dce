import { type Static, Type } from 'typebox';
import { closed, timeField } from './fields.ts';
import { passwordField, proofFields } from './session_shapes.ts';

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
      description: 'Has the provider ask who you are, also where it knows you; else nobody is signed in',
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
