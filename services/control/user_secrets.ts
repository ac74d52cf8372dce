import type { Logger } from '#infra/log/logger.ts';
import type { KeyRing } from '#infra/secrets/key_ring.ts';
import { openSecret, type SecretPlace, sealSecret } from '#infra/secrets/seal.ts';
import type { RandomBytes } from '#pipelines/settings/random_text.ts';
import type { User } from '#schemas/setting.ts';
import type { UserSecrets } from './sign_in.ts';

/**
 * Seals what users sign in with by the keys that seal destinations' secrets. What does not open is logged: to whoever signs in
 * it looks like a wrong password, and the cause is most often a key that was taken out of the ring.
 */
export function createUserSecrets(ring: KeyRing, randomBytes: RandomBytes, logger: Pick<Logger, 'error'>): UserSecrets {
  return {
    seal: (userId, field, value) => sealSecret(ring, placeOf(userId, field), value, randomBytes),
    open(userId, field, sealed) {
      const opened = openSecret(ring, placeOf(userId, field), sealed);
      if (opened.ok) return opened.value;
      logger.error({ user: userId, field, code: opened.code }, "a user's secret does not open with SECRETS_KEYS");
      return null;
    },
  };
}

/** No site has an empty id, so no secret of a destination opens as one of a user. */
function placeOf(userId: string, field: string): SecretPlace {
  return { siteId: '', destination: 'user', field: `${userId}/${field}` };
}

/** Says at start whose password or second factor does not open, as they cannot sign in and are not told why. */
export function warnOfUnopened(users: readonly User[], secrets: UserSecrets, logger: Pick<Logger, 'error'>): void {
  const unopened = users.filter(({ user_id, password, totp }) =>
    (
      [
        ['password', password],
        ['totp', totp],
      ] as const
    ).some(([field, sealed]) => sealed !== null && secrets.open(user_id, field, sealed) === null),
  );
  if (unopened.length === 0) return;
  logger.error(
    { users: unopened.length },
    'users cannot sign in: a key that sealed their secrets is not in SECRETS_KEYS',
  );
}
