import { expect, test } from 'vitest';
import { createSettingsTable } from '#pipelines/settings/table.ts';
import type { Setting } from '#schemas/setting.ts';
import { watchSettingChanges } from '#services/delivery/setting_changes.ts';

const BLANK: Setting = { changed_at: 0, changed_by: 'test', account: null, site: null, key: null, destination: null };

test('a change of one site makes what it wrote before due, and says nothing of others', () => {
  const table = createSettingsTable();
  const put = (site_id: string, token: string): void => {
    const destination = { site_id, name: 'meta', enabled: true, settings: {}, secrets: { token } };
    table.apply(`destination/${site_id}/meta`, { ...BLANK, destination });
  };
  put('a', 'old');
  put('b', 'old');
  const changes = watchSettingChanges(table, 'meta', 100);
  expect([changes.look(200), changes.changedMs('a')]).toEqual([false, 100]);
  put('a', 'new');
  expect([changes.look(300), changes.changedMs('a'), changes.changedMs('b')]).toEqual([true, 300, 100]);
  expect([changes.look(400), changes.changedMs('a')]).toEqual([false, 300]);
  put('c', 'new');
  expect([changes.look(500), changes.changedMs('c')]).toEqual([true, 500]);
});
