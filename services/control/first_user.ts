import { OWNER_OF_ALL } from '#pipelines/settings/access.ts';
import { blankUser, CONFIGURATION } from '#pipelines/settings/dashboard_users.ts';
import { auditedRecords, type SettingsJournal } from '#pipelines/settings/journal.ts';
import type { UserSecrets } from './sign_in.ts';

/**
 * Makes the configured first user an owner of the installation, so that there is one to make others. A user that is there
 * already stays as it is: a restart brings back neither a former password nor one who was disabled.
 */
export async function ensureFirstUser(
  journal: SettingsJournal,
  { seal }: UserSecrets,
  { userId, passwordHash }: { userId: string; passwordHash: string },
  nowMs: number,
): Promise<void> {
  const password = seal(userId, 'password', passwordHash);
  const user = { ...blankUser(userId, userId, nowMs), grants: [OWNER_OF_ALL], password };
  await journal.change((view) => {
    const facts = view.table.user(userId) === undefined ? [{ body: { user } }] : [];
    return { records: auditedRecords(view, facts, CONFIGURATION, nowMs), result: undefined };
  });
}
