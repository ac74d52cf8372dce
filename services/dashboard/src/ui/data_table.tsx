import type { ComponentChildren, RefObject } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { type AnswerTable, type Cell, csvOf } from '#pipelines/analytics/answer_table.ts';
import type { Asked } from '../api/use_answer.ts';
import { ago, dateTime, number, sortableTime, zonedTitle } from '../format.ts';
import { Button, type ButtonKind } from './button.tsx';
import { Empty, Shown, StateBadge, type StateLook } from './panel.tsx';

export interface Column<Row> {
  id: string;
  title: string;
  /** What the cell shows; the value where it is left out. */
  cell?: (row: Row) => ComponentChildren;
  /** What the column is sorted by and what stands in CSV. Without it the column is neither sorted nor saved. */
  value?: (row: Row) => string | number | null;
  /** What CSV has in place of them, where a spreadsheet reads something else: a date for milliseconds. */
  csv?: { title(): string; value(row: Row): Cell };
  /** Numbers stand at the end, so that their digits are below each other. */
  align?: 'start' | 'end';
  /** Least width in pixels. Where every column has one, columns keep their widths whatever the rows hold. */
  widthPx?: number;
  /** Left out where the screen is narrow: others say more. */
  isExtra?: boolean;
}

/** Moments as a spreadsheet reads them. */
const inCsv = <Row,>(title: string, value: (row: Row) => number | null): NonNullable<Column<Row>['csv']> => ({
  title: () => zonedTitle(title),
  value(row) {
    const ms = value(row);
    return ms === null ? null : sortableTime(ms);
  },
});

export const timeColumn = <Row,>(id: string, title: string, value: (row: Row) => number): Column<Row> => ({
  ...{ id, title, value, csv: inCsv(title, value) },
  cell: (row) => dateTime(value(row)),
});

/** A column of how long ago something was; what it is in place of that where it is not known. */
export const agoColumn = <Row,>(
  id: string,
  title: string,
  value: (row: Row) => number | null,
  unknown = '–',
): Column<Row> => ({
  ...{ id, title, value, csv: inCsv(title, value) },
  cell(row) {
    const ms = value(row);
    return ms === null ? unknown : <span title={dateTime(ms)}>{ago(ms, Date.now())}</span>;
  },
});

/** A column of numbers, written as such unless said otherwise. */
export const numberColumn = <Row,>(
  id: string,
  title: string,
  value: (row: Row) => number | null,
  written: (value: number | null, row: Row) => ComponentChildren = number,
): Column<Row> => ({
  ...{ id, title, value, align: 'end' },
  cell: (row) => written(value(row), row),
});

export const stateColumn = <Row,>(id: string, title: string, stateOf: (row: Row) => StateLook): Column<Row> => ({
  ...{ id, title, value: (row) => stateOf(row).label },
  cell: (row) => <StateBadge of={stateOf(row)} />,
});

/** A column of codes, ids and such; `shown` is what of one is seen. */
export const codeColumn = <Row,>(
  id: string,
  title: string,
  value: (row: Row) => string,
  shown: (text: string) => string = String,
): Column<Row> => ({
  ...{ id, title, value },
  cell: (row) => (value(row) === '' ? '–' : <code>{shown(value(row))}</code>),
});

type TextColumn<Row> = Pick<Column<Row>, 'id' | 'title'> & {
  value(row: Row): string | number;
  shown?(row: Row): string;
};

/** A column of links; one without an address is its text alone. */
export const linkColumn = <Row,>(column: TextColumn<Row> & { href(row: Row): string | null }): Column<Row> => ({
  ...column,
  cell(row) {
    const [address, text] = [column.href(row), (column.shown ?? column.value)(row)];
    return address === null ? text : <a href={address}>{text}</a>;
  },
});

export const openColumn = <Row,>(
  column: TextColumn<Row> & { look?: 'mono' | 'strong'; open(row: Row): void },
): Column<Row> => ({
  ...column,
  cell: (row) => (
    <button type="button" class={`link ${column.look ?? ''}`} onClick={() => column.open(row)}>
      {(column.shown ?? column.value)(row)}
    </button>
  ),
});

interface RowAction<Row> {
  label: string;
  nameOf(row: Row): string;
  isFor?: (row: Row) => boolean;
  kind?: ButtonKind;
  disabled?: boolean;
  act(row: Row): void;
}

export const actionColumn = <Row,>(action: RowAction<Row>): Column<Row> => ({
  ...{ id: 'action', title: 'Action', align: 'end' },
  cell: (row) =>
    (action.isFor?.(row) ?? true) && (
      <Button
        kind={action.kind ?? 'small quiet'}
        label={action.label}
        disabled={action.disabled ?? false}
        aria-label={action.nameOf(row)}
        onClick={() => action.act(row)}
      />
    ),
});

interface Sorting {
  column: string;
  isDescending: boolean;
}

interface DataTableProps<Row> {
  /** What the table holds; heard, not shown. */
  caption: string;
  /** One that is not for whoever looks may stand among the others as false. */
  columns: readonly (Column<Row> | false)[];
  rows: readonly Row[];
  keyOf(row: Row): string;
  sortedBy?: Sorting;
  /** Name of the file that the CSV button saves; no button without it. */
  csvName?: string;
  emptyText?: string;
  /** What else there is to say where there are no rows. */
  emptyHint?: ComponentChildren;
  /** Where the list goes on at the service; `label` says how many more there are. */
  more?: { load(): void; asks: boolean; label?: string } | undefined;
  /** What a click anywhere on a row does; its cells have a button or link for the same, for keyboards. */
  onRow?: (row: Row) => void;
  /** Longest height in pixels before it scrolls; only the rows in sight are drawn. */
  heightPx?: number;
}

const HEIGHT_PX = 560;

/** A table with a header that stays in sight, sorting by any column that has values, and as many rows as there are. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, rows, keyOf, csvName, emptyText = 'No data yet', more, onRow } = props;
  const { heightPx = HEIGHT_PX } = props;
  const [sorting, setSorting] = useState<Sorting | null>(props.sortedBy ?? null);
  const columns = useMemo(() => props.columns.filter((column) => column !== false), [props.columns]);
  const sorted = useMemo(() => sortedRows(rows, columns, sorting), [rows, columns, sorting]);
  const seen = useWindow(sorted.length, heightPx);
  if (rows.length === 0) return <Empty title={emptyText}>{props.emptyHint}</Empty>;
  return (
    <div class="table-box">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <section class="table-scroll" aria-label={caption} tabIndex={0} ref={seen.ref} onScroll={seen.onScroll}>
        <table aria-rowcount={sorted.length + 1} {...fixedWidth(columns)}>
          <caption class="hidden">{caption}</caption>
          <colgroup>
            {columns.map(({ id, widthPx, isExtra }) => (
              <col
                key={id}
                class={extra(isExtra)}
                {...(widthPx !== undefined && { style: { width: `${widthPx}px` } })}
              />
            ))}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map((column) => (
                <Heading key={column.id} column={column} sorting={sorting} onSorting={setSorting} />
              ))}
            </tr>
          </thead>
          <tbody>
            <Gap px={seen.first * ROW_PX} columns={columns.length} />
            {sorted.slice(seen.first, seen.end).map((row, at) => (
              <tr
                key={keyOf(row)}
                aria-rowindex={seen.first + at + 2}
                {...(onRow !== undefined && rowAct(() => onRow(row)))}
              >
                {columns.map(({ id, cell, value, align = 'start', isExtra }) => (
                  <td key={id} class={`align-${align} ${extra(isExtra)}`}>
                    {cell === undefined ? value?.(row) : cell(row)}
                  </td>
                ))}
              </tr>
            ))}
            <Gap px={(sorted.length - seen.end) * ROW_PX} columns={columns.length} />
          </tbody>
        </table>
      </section>
      <div class="row table-foot">
        <span class="muted small">
          {sorted.length === 1 ? '1 row' : `${sorted.length.toLocaleString('en-GB')} rows`}
        </span>
        {more !== undefined && (
          <Button kind="small" label={more.label ?? 'Show more'} disabled={more.asks} onClick={more.load} />
        )}
        {csvName !== undefined && (
          <Button
            kind="small quiet"
            icon="download"
            label="CSV"
            onClick={() => saveCsv(csvName, tableOf(columns, sorted))}
          />
        )}
      </div>
    </div>
  );
}

interface AskedTableProps<Row> extends Omit<DataTableProps<Row>, 'rows'> {
  asked: Asked<{ items: readonly Row[] }>;
  lines?: number;
}

/** A list of the service as a table, once it is there. */
export const AskedTable = <Row,>({ asked, lines = 3, ...table }: AskedTableProps<Row>) => (
  <Shown asked={asked} lines={lines}>
    {({ items }) => <DataTable {...table} rows={items} />}
  </Shown>
);

export const asRows = <Value, Row>(
  asked: Asked<Value>,
  rowsOf: (value: Value) => readonly Row[],
): Asked<{ items: readonly Row[] }> => ({
  ...asked,
  value: asked.value === null ? null : { items: rowsOf(asked.value) },
});

const extra = (isExtra = false): string => (isExtra ? 'extra' : '');

/** A click on what has an act of its own, or that ends a selection of text, is none on the row. */
const rowAct = (act: () => void): { class: string; onClick(event: MouseEvent): void } => ({
  class: 'row-act',
  onClick({ target }) {
    const isOwn = target instanceof Element && target.closest('a, button, input, select, label') !== null;
    if (!isOwn && (getSelection()?.isCollapsed ?? true)) act();
  },
});

function fixedWidth<Row>(columns: readonly Column<Row>[]): { class: string; style: { minWidth: string } } | null {
  const widths = columns.flatMap(({ widthPx }) => widthPx ?? []);
  if (widths.length < columns.length) return null;
  return { class: 'fixed', style: { minWidth: `${widths.reduce((sum, one) => sum + one, 0)}px` } };
}

/** Room for rows that are out of sight. */
function Gap({ px, columns }: { px: number; columns: number }) {
  if (px <= 0) return null;
  return (
    <tr class="gap">
      <td colSpan={columns} style={{ height: `${px}px` }} />
    </tr>
  );
}

interface HeadingProps<Row> {
  column: Column<Row>;
  sorting: Sorting | null;
  onSorting(sorting: Sorting): void;
}

function Heading<Row>({ column, sorting, onSorting }: HeadingProps<Row>) {
  const { id, title, value, align = 'start', isExtra } = column;
  const isChosen = sorting?.column === id;
  const direction = isChosen ? (sorting.isDescending ? 'descending' : 'ascending') : 'none';
  if (value === undefined)
    return (
      <th class={`align-${align} ${extra(isExtra)}`} scope="col">
        {title}
      </th>
    );
  return (
    <th class={`align-${align} ${extra(isExtra)}`} scope="col" aria-sort={direction}>
      <button
        type="button"
        class="sort"
        onClick={() => onSorting({ column: id, isDescending: isChosen ? !sorting.isDescending : align === 'end' })}
      >
        {title}
        <span aria-hidden="true" class="sort-mark">
          {direction === 'none' ? '' : direction === 'ascending' ? '↑' : '↓'}
        </span>
      </button>
    </th>
  );
}

/** Rows by a column's values; those without one come last. Equal ones stay in their order. */
function sortedRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting: Sorting | null,
): readonly Row[] {
  const value = columns.find(({ id }) => id === sorting?.column)?.value;
  if (sorting === null || value === undefined) return rows;
  const sign = sorting.isDescending ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: value(row) }));
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return (a.key === null ? 1 : 0) - (b.key === null ? 1 : 0);
    return a.key === b.key ? 0 : a.key < b.key ? -sign : sign;
  });
  return keyed.map(({ row }) => row);
}

function tableOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]) {
  const saved = columns.filter(({ value }) => value !== undefined);
  return {
    columns: saved.map(({ title, csv }) => csv?.title() ?? title),
    rows: rows.map((row) => saved.map(({ value, csv }) => (csv?.value ?? value)?.(row) ?? null)),
  };
}

/** Without it Excel takes UTF-8 for the code page of its country. */
const BYTE_ORDER_MARK = '\uFEFF';

/** Saves a table as a file of CSV, whose name has no ending yet. */
export const saveCsv = (name: string, table: AnswerTable): void =>
  saveFile(new Blob([BYTE_ORDER_MARK, csvOf(table)], { type: 'text/csv' }), `${name}.csv`);

export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** Height of a row of a table; the styles have it too. */
const ROW_PX = 36;
/** Tables of fewer rows are drawn whole. */
const WHOLE_MAX = 120;
/** Rows are drawn in steps of so many, so that not every pixel of scrolling draws. */
const STEP = 10;

interface RowWindow {
  ref: RefObject<HTMLElement | null>;
  first: number;
  end: number;
  onScroll(event: Event): void;
}

/** Which rows of a scrolled table are drawn: those in sight, and some before and after. */
function useWindow(rows: number, heightPx: number): RowWindow {
  const ref = useRef<HTMLElement>(null);
  const [step, setStep] = useState(0);
  const onScroll = (event: Event): void => {
    const top = (event.currentTarget as HTMLElement).scrollTop;
    setStep(Math.floor(top / ROW_PX / STEP));
  };
  return { ref, onScroll, ...windowOf(rows, step, heightPx) };
}

/** The rows that are drawn where the table is scrolled by so many steps. */
export function windowOf(rows: number, step: number, heightPx: number): { first: number; end: number } {
  if (rows <= WHOLE_MAX) return { first: 0, end: rows };
  const inSight = Math.ceil(heightPx / ROW_PX);
  const lastStep = Math.max(0, Math.floor((rows - inSight) / STEP));
  const first = Math.max(0, (Math.min(step, lastStep) - 1) * STEP);
  return { first, end: Math.min(rows, first + inSight + 3 * STEP) };
}
