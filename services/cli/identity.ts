// The command that rotates the identity secret.

import { rotateIdentitySecret } from '#infra/secrets/identity_key.ts';
import { type Commands, UsageError } from './command.ts';

export const identityCommands: Commands = {
  'identity rotate': {
    summary: 'Make a new IDENTITY_SECRET for the same identity key, and show it once: nobody becomes another person',
    async run(_args, { identity, randomBytes }) {
      if (identity === null) throw new UsageError('identity_secret_missing', 'IDENTITY_SECRET is not set');
      const rotated = rotateIdentitySecret(identity, randomBytes);
      if (rotated === null)
        throw new UsageError('identity_key_wrong', 'IDENTITY_KEY does not open with IDENTITY_SECRET');
      const variables = { IDENTITY_SECRET: rotated.secret, IDENTITY_KEY: rotated.key };
      const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
      return { text: lines.join('\n'), json: variables };
    },
  },
};
