// Runs SQL that people write: one SELECT, checked by its syntax tree, with the rights of one site.

import { ClickHouseError, extractErrorAtTheEndOfChunk } from '@clickhouse/client';
import { SQL_SETTINGS, TIME_VIEWS } from '../analysts/analyst_rights.ts';
import { createWarehouse, readError, type Warehouse } from '../client.ts';
import { newQueryId, type QueryCaller } from './running_queries.ts';
import { isCancelled, isTooHeavy, QueryCancelledError, QueryTooHeavyError } from './select_rows.ts';

/** Added to the time limit of a query for the network, so that the server's own limit ends it first. */
const ANSWER_MS_MAX = 5_000;

/** The statement is none that is taken. Its message says why, in words that the caller may read. */
export class SqlRefusedError extends Error {
  readonly code = 'sql_refused';
}

export class SqlBusyError extends Error {
  readonly code = 'query_busy';
}

type SqlFormat = 'JSONCompact' | 'Parquet';

/**
 * Rows of one SELECT that an analyst wrote, who sees the rows of one site.
 *
 * @throws SqlRefusedError, QueryTooHeavyError, QueryCancelledError, SqlBusyError, WarehouseError
 */
export type RunSql = (siteId: string, sql: string, format: SqlFormat, asker: QueryCaller) => Promise<Buffer>;

/** Asks as the user of the address, who has the rights of `analyst_rights.ts`. */
export function createSqlRunner(url: string): { ask: RunSql; close(): Promise<void> } {
  const warehouse = createWarehouse(url);
  return {
    async ask(siteId, sql, format, asker) {
      const statement = statementOf(sql);
      const run = (query: string, bytesMax: number): Promise<Buffer> =>
        answerTo(warehouse, siteId, asker, query, bytesMax);
      try {
        const tree = await run(`${EXPLAIN}${statement}`, READ_BYTES_MAX);
        const problem = treeProblem(tree.toString('utf8'));
        if (problem !== null) throw new SqlRefusedError(problem);
        return await run(`${statement}\nFORMAT ${format}`, BYTES_MAX[format]);
      } catch (error) {
        const isOurs = error instanceof SqlRefusedError || error instanceof QueryTooHeavyError;
        if (asker.signal.aborted) throw new QueryCancelledError();
        throw isOurs ? error : failureOf(error, statement);
      }
    },
    close: () => warehouse.close(),
  };
}

const EXPLAIN = 'EXPLAIN AST ';

/** What is read here and not only sent on holds up every other request while it is read. */
const READ_BYTES_MAX = 4 * 1024 ** 2;

/** ClickHouse's own limit counts a constant once for all rows that have it. */
const BYTES_MAX: Record<SqlFormat, number> = { JSONCompact: READ_BYTES_MAX, Parquet: 32 * 1024 ** 2 };

/** The whole answer. It is read as it comes: a server that is to keep it until its end puts it on disk, without a limit. */
async function answerTo(
  warehouse: Warehouse,
  siteId: string,
  { label, signal }: QueryCaller,
  query: string,
  bytesMax: number,
): Promise<Buffer> {
  const late = AbortSignal.timeout(SQL_SETTINGS.max_execution_time * 1000 + ANSWER_MS_MAX);
  const { stream, response_headers } = await warehouse.exec({
    query,
    query_id: newQueryId({ siteId, kind: 'sql', askedBy: label }),
    abort_signal: AbortSignal.any([late, signal]),
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  let cut: unknown = null;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      // Leaving the loop closes the connection, and with it ends the query.
      if (bytes > bytesMax) throw new QueryTooHeavyError('bytes of the answer');
      chunks.push(chunk);
    }
  } catch (error) {
    cut = error;
  }
  const failure = errorAtEnd(Buffer.concat(chunks), String(response_headers['x-clickhouse-exception-tag'])) ?? cut;
  if (failure !== null) throw failure;
  return Buffer.concat(chunks);
}

/** What went wrong after the first rows were sent: the server then says so behind them, between marks of the answer's own. */
function errorAtEnd(body: Buffer, tag: string): Error | null {
  const mark = ` ${tag}\r\n__exception__`;
  return body.subarray(-2 * mark.length).includes(mark) ? extractErrorAtTheEndOfChunk(body, tag) : null;
}

/** TOO_MANY_SIMULTANEOUS_QUERIES. */
const BUSY = '202';

/** TOO_DEEP_RECURSION: a WITH RECURSIVE without an end. */
const ENDLESS = '306';

/**
 * What no statement is to blame for: UNKNOWN_USER, WRONG_PASSWORD, REQUIRED_PASSWORD, SOCKET_TIMEOUT, NETWORK_ERROR,
 * TABLE_IS_READ_ONLY, NOT_ENOUGH_SPACE, ALL_CONNECTION_TRIES_FAILED, AUTHENTICATION_FAILED.
 */
const NOT_OF_THE_STATEMENT = new Set('192 193 194 209 210 242 243 279 516'.split(' '));

function failureOf(error: unknown, statement: string): Error {
  if (!(error instanceof ClickHouseError)) return readError(error);
  if (isCancelled(error)) return new QueryCancelledError();
  if (isTooHeavy(error) || error.code === ENDLESS) return new QueryTooHeavyError(error.type ?? '');
  if (error.code === BUSY) return new SqlBusyError();
  if (NOT_OF_THE_STATEMENT.has(error.code)) return readError(error);
  return new SqlRefusedError(reasonOf(error, statement));
}

const NAMES_MAX = 3;

/**
 * The server's name for the error, where it is, and of the names that the server's message has in quotes those that stand
 * in the statement itself. The rest of the message tells of the server: left out.
 */
function reasonOf({ type, message }: ClickHouseError, statement: string): string {
  const position = Number(/failed at position (\d+)/.exec(message)?.[1] ?? 0) - EXPLAIN.length;
  const quoted = [...message.matchAll(/[`'"]([A-Za-z_][\w.$]{0,63})[`'"]/g)].map(([, name = '']) => name);
  const names = [...new Set(quoted)].filter((name) => statement.includes(name)).slice(0, NAMES_MAX);
  const place = position > 0 ? ` at character ${position}` : '';
  return `is refused by ClickHouse: ${type ?? 'error'}${place}${names.length === 0 ? '' : ` (${names.join(', ')})`}`;
}

/** Table functions that make rows of nothing but their arguments, and the views that are read as table functions are. */
const TABLE_FUNCTIONS = new RegExp(
  `^(numbers|numbers_mt|zeros|zeros_mt|generate_?series|values|${Object.keys(TIME_VIEWS).join('|')})$`,
  'i',
);

/** Of the system tables, those that say what there is to ask, and only of what the user may read. */
const SYSTEM_TABLES = /^system\.(tables|columns|functions)(\.|$)/i;

/** Functions with arguments that read the server instead of rows, or only wait; none of these is a name people give to columns. */
const OF_SERVER = [
  'file',
  'sleep(eachrow)?',
  'logtrace',
  'generateserialid',
  'ai(classify|generate|embed|extract|translate)',
  '__\\w*',
  '(joinget|addressto|naivebayes|filesystem|zookeeper|mergetree|ismergetree|evalml)\\w*',
  'demangle|catboostevaluate|showcertificate|globalvariable|hascolumnintable',
  'get(macro|mergetreesetting|clienthttpheader|maxtablename\\w*)',
];

/**
 * Functions that read the server instead of rows: its files, dictionaries, machine, log and network, other queries; those that only
 * wait; and table functions, which IN takes too. ClickHouse asks for no privilege for most of them: `file` reads any file
 * where the server has no folder for it.
 */
const FUNCTIONS = new RegExp(
  `^(${[
    ...OF_SERVER,
    '(dict|region|transaction)\\w*',
    'get(server\\w*|oskernelversion)',
    '(full)?hostname|fqdn|displayname|serveruuid|tcpport|uptime|build_?id|revision|version|connection_?id|tid|hasthreadfuzzer',
    'merge|view\\w*|loop|eval|input|null|primes|dictionary|executable|fuzz\\w*|remote\\w*|cluster\\w*|generaterandom\\w*',
  ].join('|')})$`,
  'i',
);

/**
 * Of them those that take arguments: the name alone stands for the function where one is passed, as in `arrayMap(file, paths)` since
 * ClickHouse 26.4. Names that people give to columns of their own, such as region and views, are none of these.
 */
const REFERENCES = new RegExp(
  `^(${[...OF_SERVER, '(dict(get|has|isin)|region(to|in|hierarchy))\\w*', 'getserver\\w+'].join('|')})$`,
  'i',
);

/** Kinds of nodes that analysts' SQL has none of, and what is said of them. */
const NODES: Record<string, string> = {
  Set: 'takes no SETTINGS',
  Explain: 'takes no EXPLAIN',
  // Applies a function whose name the tree does not show.
  ColumnsApplyTransformer: 'takes no APPLY',
};

/** The tree of one SELECT, without FORMAT and INTO OUTFILE, which would be further children. */
const ONE_SELECT = /^SelectWithUnionQuery \(children 1\)$/;

/** A statement without the semicolons and blanks around it. A regular expression takes the square of their number. */
export function statementOf(sql: string): string {
  let end = sql.length;
  while (end > 0 && (sql[end - 1] === ';' || sql[end - 1]?.trim() === '')) end--;
  return sql.slice(0, end).trim();
}

/**
 * What of a statement analysts may not ask, in words; null: nothing. Rights are what keeps sites apart; this keeps
 * SETTINGS out, which ClickHouse takes in subqueries from users that may change none, and functions that need no right.
 *
 * @param tree The statement's tree as EXPLAIN AST prints it: ClickHouse's own parser has read comments and quoted names.
 */
function treeProblem(tree: string): string | null {
  const nodes = tree.split('\n').map((line) => line.trim());
  if (!ONE_SELECT.test(nodes[0] ?? '')) return 'is not one SELECT without FORMAT and INTO OUTFILE';
  for (const [index, node] of nodes.entries()) {
    const problem = nodeProblem(node, nodes[index - 1] ?? '');
    if (problem !== null) return problem;
  }
  return null;
}

function nodeProblem(node: string, before: string): string | null {
  const [kind = '', name = ''] = node.split(' ');
  if (Object.hasOwn(NODES, kind)) return NODES[kind] ?? null;
  if (kind === 'Function' && before.startsWith('TableExpression ') && !TABLE_FUNCTIONS.test(name)) {
    return `takes no table function ${name}`;
  }
  if (kind === 'Function' && FUNCTIONS.test(name)) return `takes no function ${name}`;
  if (kind === 'Identifier' && REFERENCES.test(name)) return `takes no function ${name}`;
  const isTable = kind === 'Identifier' || kind === 'TableIdentifier';
  if (isTable && /^(system|information_schema)\./i.test(name) && !SYSTEM_TABLES.test(name)) {
    return `takes no table ${name}`;
  }
  return null;
}
