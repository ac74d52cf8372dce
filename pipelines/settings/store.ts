import type { Setting } from '#schemas/setting.ts';
import type { SettingsTable } from './table.ts';

/** Where settings are read and written: the topic site.config in production. */
export interface SettingsStore {
  /** Holds everything that was written before the store was opened, and follows what comes after. */
  readonly table: SettingsTable;
  /** Resolves when the record is durable. A null setting removes the fact. */
  write(recordKey: string, setting: Setting | null): Promise<void>;
  close(): Promise<void>;
}
