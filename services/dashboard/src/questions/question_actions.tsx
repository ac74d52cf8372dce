import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerTable } from '#pipelines/analytics/answer_table.ts';
import { sentenceOf } from '../api/api_answer.ts';
import { askFile, type Questions } from '../api/questions.ts';
import { request } from '../api/request.ts';
import { useAnswer } from '../api/use_answer.ts';
import { timeOfDay } from '../format.ts';
import { saveCsv } from '../ui/csv_button.tsx';
import { Icon } from '../ui/icon.tsx';
import { saveFile } from '../ui/save_file.ts';
import { toast } from '../ui/toast.tsx';
import { mayAt } from '../who.ts';
import { savedInPlace } from './question_place.ts';
import { SaveDialog } from './save_dialog.tsx';
import { questionsPath, type SavedQuestion } from './saved.ts';

interface QuestionActionsProps<Name extends keyof Questions> {
  siteId: string;
  name: Name;
  /** As it was asked; null until something was answered. */
  query: Questions[Name][0] | null;
  asOf: number | null;
  /** The answer as people read it in a spreadsheet; null: CSV is what the service writes. */
  table: (() => AnswerTable) | null;
}

/** Which saved question is open. */
function Opened({ siteId, id }: { siteId: string; id: string }): VNode | null {
  const asked = useAnswer(`${siteId} ${id}`, (signal) =>
    request<SavedQuestion>('GET', `${questionsPath(siteId)}/${encodeURIComponent(id)}`, { signal }),
  );
  return asked.value === null ? null : <span class="muted small">Saved question “{asked.value.name}”</span>;
}

/** What can be done with a question and its answer: save it, download it. */
export function QuestionActions<Name extends keyof Questions>({
  siteId,
  name,
  query,
  asOf,
  table,
}: QuestionActionsProps<Name>): VNode {
  const [saves, setSaves] = useState(false);
  const savedId = savedInPlace();
  const download = async (format: 'csv' | 'parquet'): Promise<void> => {
    if (query === null) return;
    if (format === 'csv' && table !== null) return saveCsv(name, table());
    const answer = await askFile(siteId, name, query, format);
    if (answer.ok) saveFile(answer.value, `${name}.${format}`);
    else toast(sentenceOf(answer.failure), 'bad');
  };
  return (
    <>
      {savedId !== null && <Opened key={`${savedId} ${saves}`} siteId={siteId} id={savedId} />}
      {asOf !== null && <span class="muted small as-of">As of {timeOfDay(asOf)}</span>}
      {(['csv', 'parquet'] as const).map((format) => (
        <button
          key={format}
          type="button"
          class="button small quiet"
          disabled={query === null}
          onClick={() => void download(format)}
        >
          <Icon name="download" /> {format === 'csv' ? 'CSV' : 'Parquet'}
        </button>
      ))}
      {mayAt('saved.change', siteId) && (
        <button type="button" class="button small" disabled={query === null} onClick={() => setSaves(true)}>
          Save
        </button>
      )}
      {saves && query !== null && (
        <SaveDialog siteId={siteId} query={name} question={query} onClose={() => setSaves(false)} />
      )}
    </>
  );
}
