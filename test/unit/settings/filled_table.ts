import { createSettingsTable, keyOfSetting, type SettingsTable } from '#pipelines/settings/table.ts';
import type { Setting } from '#schemas/setting.ts';
import { setting } from './samples.ts';

type Bodies = Partial<Omit<Setting, 'changed_at' | 'changed_by'>>;

/** A table that has applied one record for each body given. */
export function filledTable(...facts: Bodies[]): SettingsTable {
  const table = createSettingsTable();
  for (const fact of facts) put(table, fact);
  return table;
}

export function put(table: SettingsTable, fact: Bodies): void {
  const record = setting(fact);
  const recordKey = keyOfSetting(record);
  if (recordKey === null || !table.apply(recordKey, record).ok) throw new Error('the test gave an impossible fact');
}
