import type { ControlConfig } from '#infra/config/control_config.ts';
import { CONFIGURATION } from '#pipelines/settings/dashboard_users.ts';
import { auditedRecords, type SettingsJournal } from '#pipelines/settings/journal.ts';
import type { AdminToken } from '#schemas/setting.ts';

/**
 * Puts the configured first token on the topic, so that there is one to issue others with. A token that is there
 * already stays as it is: one that was revoked is not brought back by a restart.
 */
export async function ensureFirstToken(
  journal: SettingsJournal,
  { hash, label }: NonNullable<ControlConfig['firstToken']>,
  nowMs: number,
): Promise<void> {
  const token: AdminToken = {
    token_hash: hash,
    shown_prefix: 'svc_at_',
    label,
    created_at: nowMs,
    expires_at: null,
    revoked_at: null,
  };
  await journal.change((view) => {
    const facts = view.table.adminToken(hash) === undefined ? [{ body: { admin_token: token } }] : [];
    return { records: auditedRecords(view, facts, CONFIGURATION, nowMs), result: undefined };
  });
}
