// Seals secrets anew after SECRETS_KEYS has changed.
import type { Logger } from '#infra/log/logger.ts';
import { type KeyRing, openSecret, type SecretPlace, sealSecret } from '#infra/secrets/seal.ts';
import { alertSecretPlace } from '#pipelines/alerts/alert.ts';
import { CONFIGURATION } from '#pipelines/settings/dashboard_users.ts';
import { auditedRecords, type Fact, type SettingsJournal } from '#pipelines/settings/journal.ts';
import type { RandomBytes } from '#pipelines/settings/secrets.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { AlertSetting, Destination, User } from '#schemas/setting.ts';
import { userSecretPlace } from './users/sign_in.ts';

const USER_FIELDS = ['password', 'totp'] as const;

/**
 * Seals with the ring's first key what another one has sealed, so that the other can be taken out of the ring. What does not open
 * stays as it is, and is counted. One change for each destination, alert and user: another control service may do the same. Resolves to
 * how many secrets were sealed anew, and how many do not open. @throws JournalError
 */
export async function resealSecrets(
  journal: SettingsJournal,
  ring: KeyRing,
  randomBytes: RandomBytes,
  logger: Pick<Logger, 'info' | 'error'>,
  nowMs: () => number,
): Promise<{ resealed: number; unopened: number }> {
  const isOld = (sealed: string | null): sealed is string =>
    sealed !== null && !sealed.startsWith(`${ring.first.keyId}.`);

  function anew(place: SecretPlace, sealed: string): string {
    const opened = isOld(sealed) ? openSecret(ring, place, sealed) : null;
    return opened?.ok ? sealSecret(ring, place, opened.value, randomBytes) : sealed;
  }

  function secretsAnew<Of extends Destination | AlertSetting>(of: Of, placeOf: (field: string) => SecretPlace): Of {
    const entries = Object.entries(of.secrets).map(([field, sealed]) => [field, anew(placeOf(field), sealed)] as const);
    return { ...of, secrets: Object.fromEntries(entries) };
  }
  const destinationAnew = (destination: Destination): Destination => {
    const { site_id: siteId, name } = destination;
    return secretsAnew(destination, (field) => ({ siteId, destination: name, field }));
  };
  const alertAnew = (alert: AlertSetting): AlertSetting =>
    secretsAnew(alert, (field) => alertSecretPlace(alert.site_id, alert.id, field));

  function userAnew(user: User): User {
    const after = { ...user };
    for (const field of USER_FIELDS) {
      const sealed = user[field];
      if (sealed !== null) after[field] = anew(userSecretPlace(user.user_id, field), sealed);
    }
    return after;
  }

  const oldOf = {
    secrets: ({ secrets }: Destination | AlertSetting): number => Object.values(secrets).filter(isOld).length,
    user: (user: User): number => USER_FIELDS.filter((field) => isOld(user[field])).length,
  };
  const alertsIn = (table: SettingsTable): AlertSetting[] =>
    table.sites().flatMap(({ site_id }) => [...table.alerts(site_id)]);
  const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);
  const oldIn = (table: SettingsTable): number =>
    sum(table.destinations().map(oldOf.secrets)) +
    sum(alertsIn(table).map(oldOf.secrets)) +
    sum(table.users().map(oldOf.user));
  const change = (factOf: (table: SettingsTable) => Fact[]): Promise<void> =>
    journal.change((view) => ({
      records: auditedRecords(view, factOf(view.table), CONFIGURATION, nowMs()),
      result: undefined,
    }));

  const { table } = journal.view();
  const before = oldIn(table);
  for (const { site_id, name } of table.destinations().filter(oldOf.secrets)) {
    await change((now) => {
      const destination = now.destination(site_id, name);
      return destination === undefined ? [] : [{ body: { destination: destinationAnew(destination) } }];
    });
  }
  for (const { site_id, id } of alertsIn(table).filter(oldOf.secrets)) {
    await change((now) => {
      const alert = now.alerts(site_id).find((one) => one.id === id);
      return alert === undefined ? [] : [{ body: { alert: alertAnew(alert) } }];
    });
  }
  for (const { user_id } of table.users().filter(oldOf.user)) {
    await change((now) => {
      const user = now.user(user_id);
      return user === undefined ? [] : [{ body: { user: userAnew(user) } }];
    });
  }
  const unopened = oldIn(journal.view().table);
  const counts = { resealed: before - unopened, unopened };
  if (counts.resealed > 0) logger.info({ ...counts, key: ring.first.keyId }, 'secrets were sealed anew');
  if (unopened > 0) logger.error(counts, 'secrets cannot be decrypted with SECRETS_KEYS');
  return counts;
}
