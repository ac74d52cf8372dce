import type { VNode } from 'preact';
import { type AnswerTable, csvOf } from '#pipelines/analytics/answer_table.ts';
import { Icon } from './icon.tsx';
import { saveFile } from './save_file.ts';

/** Saves a table as a file of CSV, whose name has no ending yet. */
export const saveCsv = (name: string, table: AnswerTable): void =>
  saveFile(new Blob([csvOf(table)], { type: 'text/csv' }), `${name}.csv`);

/** Saves a table as CSV. The table is made when it is asked for. */
export function CsvButton({ name, table }: { name: string; table: () => AnswerTable }): VNode {
  return (
    <button type="button" class="button small quiet" onClick={() => saveCsv(name, table())}>
      <Icon name="download" /> CSV
    </button>
  );
}
