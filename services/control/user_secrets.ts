import type { KeyRing } from '#infra/secrets/key_ring.ts';
import { openSecret, type SecretPlace, sealSecret } from '#infra/secrets/seal.ts';
import type { RandomBytes } from '#pipelines/settings/random_text.ts';
import type { UserSecrets } from './sign_in.ts';

/** Seals what users sign in with by the keys that seal destinations' secrets. */
export function createUserSecrets(ring: KeyRing, randomBytes: RandomBytes): UserSecrets {
  return {
    seal: (userId, field, value) => sealSecret(ring, placeOf(userId, field), value, randomBytes),
    open(userId, field, sealed) {
      const opened = openSecret(ring, placeOf(userId, field), sealed);
      return opened.ok ? opened.value : null;
    },
  };
}

/** No site has an empty id, so no secret of a destination opens as one of a user. */
function placeOf(userId: string, field: string): SecretPlace {
  return { siteId: '', destination: 'user', field: `${userId}/${field}` };
}
