import type { ComponentType } from 'preact';
import type { Questions } from '#pipelines/analytics/questions.ts';
import type { AnswerViewProps, ListedPart } from '../../questions/question_result.tsx';
import type { QuestionKind } from '../../questions/saved.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { FunnelView } from '../funnels/funnel_view.tsx';
import { PathsView } from '../paths/paths_view.tsx';
import { RetentionView } from '../retention/retention_view.tsx';
import { TrendsView } from '../trends/trends_view.tsx';
import { savedTable } from './saved_table.ts';

/** What shows the answers of a kind; null: its table. */
const VIEWS: { readonly [Kind in keyof Questions]: ComponentType<AnswerViewProps<Kind>> | null } = {
  funnel: FunnelView,
  trends: TrendsView,
  retention: RetentionView,
  paths: PathsView,
  correlation: null,
  revenue: null,
  stickiness: null,
  visits: null,
  lifecycle: null,
  top: null,
  live: null,
  timeline: null,
  survey: null,
  promo: null,
  form: null,
  actors: null,
  cohorts: null,
  members: null,
};

interface SavedAnswerProps {
  kind: QuestionKind;
  query: object;
  answer: object;
  onPart: ((part: ListedPart) => void) | undefined;
}

/** The answer to a saved question, by what shows its kind. */
export function SavedAnswer({ kind, ...shown }: SavedAnswerProps) {
  const table = <AnswerRows query={shown.query} answer={shown.answer} name={kind} />;
  if (kind === 'sql') {
    return (
      <div class="stack">
        <p class="muted">Uses the dates in its SQL: the period of this page does not apply.</p>
        {table}
      </div>
    );
  }
  // The service answers a saved question as its kind is answered; a newer one may have kinds that are not among these.
  const View = (VIEWS[kind] ?? null) as ComponentType<Omit<SavedAnswerProps, 'kind'>> | null;
  return View === null ? table : <View {...shown} />;
}

function AnswerRows({ query, answer, name }: { query: object; answer: object; name: QuestionKind }) {
  const { columns, rows } = savedTable(name, { query, answer });
  return (
    <DataTable
      caption="Answer"
      columns={columns.map((title, at): Column<Row> => ({ id: title, title, value: ({ cells }) => plain(cells[at]) }))}
      rows={rows.map((cells, number) => ({ cells, number }))}
      keyOf={({ number }) => String(number)}
      csvName={name}
    />
  );
}

interface Row {
  cells: readonly unknown[];
  number: number;
}

function plain(cell: unknown): string | number | null {
  if (cell === null || cell === undefined) return null;
  return typeof cell === 'number' || typeof cell === 'string' ? cell : JSON.stringify(cell);
}
