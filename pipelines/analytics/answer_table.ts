// The answer of a query as a table, and as CSV; and the rows that a question in SQL is answered.

/** What a cell of a table holds; null: nothing. */
export type Cell = string | number | boolean | null;

/** An answer as rows, each with a cell for every column. */
export interface AnswerTable {
  columns: string[];
  rows: Cell[][];
}

type Cells = Map<string, Cell>;

/** The part that a row of the answer itself is of. */
const WHOLE = 'answer';

/**
 * Any answer to a query as a table: a row for the answer itself and for every element of its lists. `part` names the list
 * by its path, `number` is the element's place in it, from 1. A row has what its element says under its own names, what a
 * nested object says under `object.name`, and what the elements say that it is inside of under `list.name`. Properties of
 * events, whose names are anything, are one cell of JSON.
 */
export function answerTable(answer: object): AnswerTable {
  const rows = rowsOf(answer, { part: WHOLE, number: null, above: new Map() });
  const columns = [...new Set(['part', 'number', ...rows.flatMap((cells) => [...cells.keys()])])];
  return { columns, rows: rows.map((cells) => columns.map((column) => cells.get(column) ?? null)) };
}

interface Place {
  part: string;
  number: number | null;
  /** What the elements say that this one is inside of. */
  above: Cells;
}

function rowsOf(element: object, { part, number, above }: Place): Cells[] {
  const { cells, lists } = contentsOf(element);
  const own: Cells = new Map<string, Cell>([['part', part], ['number', number], ...above, ...cells]);
  const below: Cells =
    part === WHOLE
      ? new Map()
      : new Map([
          ...above,
          [`${part}.number`, number],
          ...[...cells].map(([name, cell]) => [`${part}.${name}`, cell] as const),
        ]);
  const inside = lists.flatMap(([name, items]) =>
    items.flatMap((item, index) =>
      rowsOf(isObject(item) ? item : { value: item }, {
        part: part === WHOLE ? name : `${part}.${name}`,
        number: index + 1,
        above: below,
      }),
    ),
  );
  return cells.size > 0 || lists.length === 0 ? [own, ...inside] : inside;
}

interface Contents {
  cells: Cells;
  lists: [name: string, items: unknown[]][];
}

function contentsOf(element: object, prefix = ''): Contents {
  const contents: Contents = { cells: new Map(), lists: [] };
  for (const [key, value] of Object.entries(element)) {
    const name = prefix + key;
    if (Array.isArray(value)) contents.lists.push([name, value]);
    else if (key === 'properties') contents.cells.set(name, JSON.stringify(value));
    else if (isObject(value)) addAll(contents, contentsOf(value, `${name}.`));
    else if (isCell(value)) contents.cells.set(name, value);
  }
  return contents;
}

function addAll({ cells, lists }: Contents, more: Contents): void {
  for (const [name, cell] of more.cells) cells.set(name, cell);
  lists.push(...more.lists);
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isCell = (value: unknown): value is Exclude<Cell, null> =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

/**
 * What spreadsheets take for the beginning of a formula. An apostrophe before it makes the cell a text (OWASP, CSV Injection):
 * names of events and values of properties come from whoever sends events.
 */
const FORMULA = /^[=+\-@\t\r]/;

/** A table as CSV (RFC 4180), with its columns in the first line. */
export function csvOf({ columns, rows }: AnswerTable): string {
  return [columns, ...rows].map((row) => `${csvLine(row)}\r\n`).join('');
}

/** A line of CSV without its end. */
function csvLine(cells: readonly (Cell | undefined)[]): string {
  return cells.map(csvCell).join(',');
}

function csvCell(value: Cell | undefined): string {
  const text = typeof value === 'string' && FORMULA.test(value) ? `'${value}` : String(value ?? '');
  // Quoted also before a semicolon or a tab: spreadsheets of many countries take them for the end of a cell.
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** What a question in SQL is answered: rows have a value for each column. */
export interface SqlAnswer {
  /** `type` is ClickHouse's name. */
  columns: { name: string; type: string }[];
  rows: unknown[][];
}

/** Reads ClickHouse's JSONCompact with whole numbers of 64 bits and more as texts. */
export function readSqlRows(text: string): SqlAnswer {
  const { meta, data } = JSON.parse(text) as { meta: SqlAnswer['columns']; data: unknown[][] };
  for (const [index, { type }] of meta.entries()) {
    if (!isWide(type)) continue;
    for (const row of data) row[index] = numbersOf(row[index]);
  }
  return { columns: meta, rows: data };
}

/** A whole number of 64 bits or more, or lists of them. Tuples and maps have other things too: their texts stay. */
const isWide = (type: string): boolean =>
  /^((Array|Nullable|LowCardinality)\()*U?Int(64|128|256)\)*$/.test(type) ||
  /^SimpleAggregateFunction\(\w+, U?Int(64|128|256)\)$/.test(type);

/** Texts of digits as numbers, but for those that no number of ours is exactly. */
function numbersOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(numbersOf);
  return typeof value === 'string' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** The rows as a table; lists and objects are cells of JSON. */
export function sqlTable({ columns, rows }: SqlAnswer): AnswerTable {
  return { columns: columns.map(({ name }) => name), rows: rows.map((row) => row.map(sqlCell)) };
}

function sqlCell(value: unknown): Cell {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
