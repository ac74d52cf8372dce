// A statement for ClickHouse: its text, its values, what its SELECTs name once, and the texts that it reads of properties.

/** A value for a `{name:Type}` placeholder. */
type ParameterValue = string | number | boolean | readonly string[] | readonly number[];

/** A SELECT with its values separate: nothing that a caller gave is part of `sql`. */
export interface Statement {
  sql: string;
  parameters: Record<string, ParameterValue>;
}

type ParameterType =
  | 'String'
  | 'Float64'
  | 'Int64'
  | 'UInt64'
  | 'UInt32'
  | 'DateTime64(3)'
  | 'Array(String)'
  | 'Array(Float64)';

/** Collects the values of one statement, and what its SELECTs name. */
export interface Binder {
  /** The placeholder of a value; equal values of one type share it. */
  bind(value: ParameterValue, type: ParameterType): string;
  /** The placeholder of a time in milliseconds since 1970 UTC; there are none before. */
  time(ms: number): string;
  /**
   * A name for an expression over a row, equal ones share it: what is written out twice is analysed twice. The SELECT that it is
   * for has to be given to withNames.
   */
  name(expression: string): string;
  /**
   * A name for what rows of event_rows are joined with, equal ones share it. The SELECT that it is for says by JOINS where that goes.
   * What is joined is an array that is worked out once, however often it stands in a statement.
   *
   * @param join The words of the join, then what is joined, a SELECT of these columns, and the condition, given the name.
   */
  joined(
    kind: 'GLOBAL ASOF LEFT JOIN' | 'GLOBAL ANY LEFT JOIN',
    select: string,
    columns: readonly string[],
    on: (name: string) => string,
  ): string;
  /** A SELECT with what its names stand for, and with its joins. */
  withNames(select: string): string;
  /**
   * The same SELECT, which is written once where the statement has it in parentheses more than once, as what is selected from.
   */
  shared(select: string): string;
  /**
   * A name for the one value that a SELECT has, or an expression without columns, in all of the statement; equal ones share it. It is
   * worked out once, and before what it stands in: ClickHouse works one anew that stands in an IN of another.
   *
   * @param rows Conditions for the rows that the SELECT is asked about here. Where it says ROWS it has all that the statement asks it about.
   */
  scalar(select: string, rows?: string): string;
  /** For a SELECT inside of another, with names of its own. */
  inside(): Binder;
  statement(sql: string): Statement;
}

/** Stands behind `FROM event_rows` where a SELECT's joins go. */
export const JOINS = '/* joins */';

/** Stands in a scalar's SELECT for the conditions of its rows. */
export const ROWS = '/* rows */';

/** Seconds since 1970 have ten digits and three behind the point: ClickHouse reads a number of four as a year, as of 1970. */
const SECONDS_LENGTH = 14;

export function createBinder(): Binder {
  const parameters: Record<string, ParameterValue> = {};
  const places = new Map<string, string>();
  const shared = new Set<string>();
  const bind: Binder['bind'] = (value, type) => {
    const known = JSON.stringify([type, value]);
    let name = places.get(known);
    if (name === undefined) {
      name = `p${places.size}`;
      places.set(known, name);
      parameters[name] = value;
    }
    return `{${name}:${type}}`;
  };
  const numbers = { v: new Map<string, string>(), w: new Map<string, string>() };
  const joins = new Map<string, string>();
  const scalars = new Map<string, Scalar>();
  const scalar: Binder['scalar'] = (select, rows = '') => {
    const known = scalars.get(select) ?? { name: `once${scalars.size}`, rows: new Set() };
    scalars.set(select, known);
    known.rows.add(rows);
    return known.name;
  };
  const binderOf = (letter: keyof typeof numbers): Binder => {
    const known = numbers[letter];
    const named = new Map<string, string>();
    return {
      bind,
      time: (ms) => bind((Math.max(0, ms) / 1000).toFixed(3).padStart(SECONDS_LENGTH, '0'), 'DateTime64(3)'),
      name(expression) {
        const name = known.get(expression) ?? `${letter}${known.size}`;
        known.set(expression, name);
        named.set(expression, name);
        return name;
      },
      joined(kind, select, columns, on) {
        const rows = scalar(`SELECT groupArray((${columns.join(', ')})) FROM (${select})`);
        const name = `of_${rows}`;
        const named = columns.map((column, index) => `row.${index + 1} AS ${column}`).join(', ');
        joins.set(name, `${kind} (SELECT ${named} FROM (SELECT arrayJoin(${rows}) AS row)) AS ${name} ON ${on(name)}`);
        return name;
      },
      withNames: (select) => withJoins(withNames(select, named), joins),
      shared(select) {
        shared.add(select);
        return select;
      },
      scalar,
      inside: () => binderOf('w'),
      statement: (sql) => ({ sql: withShared(sql, shared, scalars), parameters }),
    };
  };
  return binderOf('v');
}

/** What is named once is written where its name stands. An expression names what was named before it. */
function withNames(select: string, named: ReadonlyMap<string, string>): string {
  const written: string[] = [];
  let text = select;
  for (const [expression, name] of [...named].reverse()) {
    const places = new RegExp(`\\b${name}\\b`, 'g');
    const all = [...written, text].join();
    const count = all.match(places)?.length ?? 0;
    if (count === 1) {
      text = text.replace(places, () => `(${expression})`);
      written.forEach((one, index) => {
        written[index] = one.replace(places, () => `(${expression})`);
      });
    }
    if (count > 1) written.unshift(`${expression} AS ${name}`);
  }
  return written.length === 0 ? text : `WITH ${written.join(', ')} ${text}`;
}

function withJoins(select: string, joins: ReadonlyMap<string, string>): string {
  const wanted = [...joins].filter(([name]) => select.includes(`${name}.`)).map(([, join]) => ` ${join}`);
  if (wanted.length > 0 && !select.includes(JOINS)) throw new Error('a SELECT has no place for its joins');
  return select.replace(JOINS, () => wanted.join('\n'));
}

interface Scalar {
  name: string;
  /** What the statement asks it about. */
  rows: Set<string>;
}

function withShared(sql: string, shared: ReadonlySet<string>, scalars: ReadonlyMap<string, Scalar>): string {
  let written = [...scalars].map(([select, { name, rows }]) => {
    const asked = rows.size === 1 ? [...rows].join() : `(${[...rows].join(' OR ')})`;
    return `(${select.replaceAll(ROWS, () => asked)}) AS ${name}`;
  });
  let text = sql;
  // What contains others comes after them.
  for (const select of [...shared].reverse()) {
    const whole = `(${select})`;
    if ([...written, text].join().split(whole).length < 3) continue;
    const name = `shared${written.length}`;
    text = text.replaceAll(whole, () => name);
    written = [`${name} AS ${whole}`, ...written.map((one) => one.replaceAll(whole, () => name))];
  }
  if (written.length === 0) return text;
  return `WITH ${written.join(',\n')}\n${text}`;
}

/** A property that is a text is itself; a number, true, false, an object or an array is its JSON; null and a missing one are empty. */
export function textOfProperty(property: readonly string[], binder: Binder): string {
  const { json, path } = placeOf(property, binder);
  return binder.name(path.length === 0 ? textOfJson(json) : jsonText([json, ...path]));
}

/**
 * The text of JSON that is a property's whole; none is the empty text. What has no backslash stands there as it is: to parse it
 * would take as long as reading it.
 */
export const textOfJson = (json: string): string =>
  `if(startsWith(${json}, '"'), if(position(${json}, '\\\\') = 0, substring(${json}, 2, length(${json}) - 2), JSONExtractString(${json})), if(${json} = 'null', '', ${json}))`;

/**
 * Where a path into the properties leads: SQL of the JSON of the property that it begins with, and of the names behind it.
 * property_texts is stored by names, so that the other properties are not read.
 */
export function placeOf([name = '', ...inside]: readonly string[], binder: Binder): { json: string; path: string[] } {
  return {
    json: binder.name(`property_texts[${binder.bind(name, 'String')}]`),
    path: inside.map((part) => binder.bind(part, 'String')),
  };
}

/** The text of what JSON has at a path: SQL of the JSON, then of each part. */
export function jsonText(parts: readonly string[]): string {
  const path = parts.join(', ');
  return `multiIf(JSONType(${path}) = 'String', JSONExtractString(${path}), JSONType(${path}) = 'Null', '', JSONExtractRaw(${path}))`;
}
