import { type AnswerTable, answerTable, type Cell } from '#pipelines/analytics/answer_table.ts';
import type { Questions } from '#pipelines/analytics/questions.ts';
import { capital, sortableStart, timeZone, zonedTitle } from '../../format.ts';
import type { AnswerViewProps } from '../../questions/question_result.tsx';
import type { QuestionKind } from '../../questions/saved.ts';
import { funnelTable } from '../funnels/funnel_view.tsx';
import { pathsTable } from '../paths/paths_view.tsx';
import { retentionTable } from '../retention/retention_view.tsx';
import { trendTable } from '../trends/trends_view.tsx';

type TableOf<Kind extends keyof Questions> = (of: Pick<AnswerViewProps<Kind>, 'query' | 'answer'>) => AnswerTable;

const TABLES: { readonly [Kind in keyof Questions]?: TableOf<Kind> } = {
  funnel: funnelTable,
  trends: trendTable,
  retention: retentionTable,
  paths: pathsTable,
  revenue: ({ query, answer }) => listTable(answer, 'currencies.intervals', query.interval),
  visits: ({ query, answer }) =>
    listTable(answer, query.breakdown === undefined ? 'intervals' : 'values', query.interval ?? 'day'),
  lifecycle: ({ query, answer }) => listTable(answer, 'intervals', query.interval),
  stickiness: ({ answer }) => listTable(answer, 'series.active', 'day'),
  top: ({ answer }) => listTable(answer, 'values', 'day'),
};

/** The answer to a saved query as one table; of kinds that nobody saves by a page as the API writes CSV. */
export function savedTable(kind: QuestionKind, of: { query: object; answer: object }): AnswerTable {
  if (kind === 'sql') {
    const { columns, rows } = of.answer as { columns: { name: string }[]; rows: Cell[][] };
    return { columns: columns.map(({ name }) => name), rows };
  }
  const table = TABLES[kind] as TableOf<never> | undefined;
  return table === undefined ? answerTable(of.answer) : table(of as Parameters<typeof table>[0]);
}

const SECOND_MS = 1_000;
/** What tells the elements of a list apart. */
const NAMING = ['from', 'value'];

/** One list of an answer: what tells the elements that it is inside of, then its own figures. Times are dates, durations seconds. */
function listTable(answer: object, list: string, interval: string): AnswerTable {
  const { columns, rows } = answerTable(answer);
  const part = columns.indexOf('part');
  const above = `${list.split('.').slice(0, -1).join('.')}.`;
  const elements = rows.filter((row) => row[part] === list);
  const holds = (at: number): boolean => elements.some((row) => row[at] !== null);
  const isText = (at: number): boolean => elements.some((row) => typeof row[at] === 'string');
  const isAbove = (name: string): boolean => above !== '.' && name.startsWith(above);
  const hasName = columns.some((name, at) => isAbove(name) && isText(at));
  const shown = columns.flatMap((name, at) => {
    if (name === 'part' || name === 'number' || !holds(at)) return [];
    if (!isAbove(name)) return [{ name, at, place: NAMING.includes(name) ? 1 : 2 }];
    const tells = hasName ? isText(at) : name === `${above}number`;
    return tells ? [{ name: hasName ? name.slice(above.length) : name, at, place: 0 }] : [];
  });
  shown.sort((a, b) => a.place - b.place);
  return {
    columns: shown.map(({ name }) => titleOf(name)),
    rows: elements.map((row) => shown.map(({ name, at }) => cellOf(name, row[at] ?? null, interval))),
  };
}

function titleOf(name: string): string {
  if (name === 'from') return zonedTitle('From');
  const words = capital(name.replace(/_ms$/, '').replaceAll(/[._]/g, ' '));
  return name.endsWith('_ms') ? `${words} (seconds)` : words;
}

function cellOf(name: string, cell: Cell, interval: string): Cell {
  if (typeof cell !== 'number') return cell;
  if (name === 'from') return sortableStart(cell, interval, timeZone());
  return name.endsWith('_ms') ? cell / SECOND_MS : cell;
}
