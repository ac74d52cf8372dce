// Seals secrets anew after SECRETS_KEYS has changed.
import type { Logger } from '#infra/log/logger.ts';
import { type KeyRing, openSecret, sealSecret } from '#infra/secrets/seal.ts';
import { CONFIGURATION } from '#pipelines/settings/dashboard_users.ts';
import { auditedRecords, type Fact, type SettingsJournal, type SettingsView } from '#pipelines/settings/journal.ts';
import type { RandomBytes } from '#pipelines/settings/secrets.ts';
import type { Destination, User } from '#schemas/setting.ts';
import type { UserSecrets } from './users/sign_in.ts';

const USER_FIELDS = ['password', 'totp'] as const;

/**
 * Seals with the ring's first key what another one has sealed, so that the other can be taken out of the ring. What does not open
 * stays as it is, and is logged. One change for each destination and user: another control service may do the same. Resolves to
 * how many secrets were sealed anew, and how many do not open. @throws JournalError
 */
export async function resealSecrets(
  journal: SettingsJournal,
  { ring, userSecrets, randomBytes }: { ring: KeyRing; userSecrets: UserSecrets; randomBytes: RandomBytes },
  logger: Pick<Logger, 'info' | 'error'>,
  nowMs: () => number,
): Promise<{ resealed: number; unopened: number }> {
  const isOld = (sealed: string): boolean => !sealed.startsWith(`${ring.first.keyId}.`);
  const counts = { resealed: 0, unopened: 0 };

  function destinationAnew(destination: Destination): Destination {
    const entries = Object.entries(destination.secrets).map(([field, sealed]): [string, string] => {
      const place = { siteId: destination.site_id, destination: destination.name, field };
      const opened = isOld(sealed) ? openSecret(ring, place, sealed) : null;
      return [field, opened?.ok ? sealSecret(ring, place, opened.value, randomBytes) : sealed];
    });
    return { ...destination, secrets: Object.fromEntries(entries) };
  }

  function userAnew(user: User): User {
    const anew = { ...user };
    for (const field of USER_FIELDS) {
      const sealed = user[field];
      const opened = sealed !== null && isOld(sealed) ? userSecrets.open(user.user_id, field, sealed) : null;
      if (opened !== null) anew[field] = userSecrets.seal(user.user_id, field, opened);
    }
    return anew;
  }

  const change = (factOf: (view: SettingsView) => Fact[]): Promise<void> =>
    journal.change((view) => ({
      records: auditedRecords(view, factOf(view), CONFIGURATION, nowMs()),
      result: undefined,
    }));
  const oldIn = (secrets: readonly (string | null)[]): number =>
    secrets.filter((sealed) => sealed !== null && isOld(sealed)).length;
  const count = (before: number, after: number): void => {
    counts.resealed += before - after;
    counts.unopened += after;
  };

  for (const { site_id, name, secrets } of journal.view().table.destinations()) {
    const before = oldIn(Object.values(secrets));
    if (before === 0) continue;
    await change(({ table }) => {
      const now = table.destination(site_id, name);
      return now === undefined ? [] : [{ body: { destination: destinationAnew(now) } }];
    });
    count(before, oldIn(Object.values(journal.view().table.destination(site_id, name)?.secrets ?? {})));
  }
  for (const { user_id, password, totp } of journal.view().table.users()) {
    const before = oldIn([password, totp]);
    if (before === 0) continue;
    await change(({ table }) => {
      const now = table.user(user_id);
      return now === undefined ? [] : [{ body: { user: userAnew(now) } }];
    });
    const now = journal.view().table.user(user_id);
    count(before, oldIn([now?.password ?? null, now?.totp ?? null]));
  }
  if (counts.resealed > 0) logger.info({ ...counts, key: ring.first.keyId }, 'secrets were sealed anew');
  if (counts.unopened > 0) logger.error(counts, 'secrets cannot be decrypted with SECRETS_KEYS');
  return counts;
}
