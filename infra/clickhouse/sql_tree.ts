import { TIME_VIEWS } from './analyst.ts';

/** Table functions that make rows of nothing but their arguments, and the views that are read as table functions are. */
const TABLE_FUNCTIONS = new RegExp(
  `^(numbers|numbers_mt|zeros|zeros_mt|generate_?series|values|${Object.keys(TIME_VIEWS).join('|')})$`,
  'i',
);

/** Of the system tables, those that say what there is to ask, and only of what the user may read. */
const SYSTEM_TABLES = /^system\.(tables|columns|functions)(\.|$)/i;

/**
 * Functions that read the server instead of rows: its files, dictionaries, machine, log and network, other queries; those that only
 * wait; and table functions, which IN takes too. ClickHouse asks for no privilege for most of them: `file` reads any file
 * where the server has no folder for it.
 */
const FUNCTIONS = new RegExp(
  `^(${[
    'file',
    'sleep(eachrow)?',
    'logtrace',
    'generateserialid',
    'ai(classify|generate|embed|extract|translate)',
    '__\\w*',
    '(dict|joinget|region|addressto|naivebayes|filesystem|zookeeper|transaction|mergetree|ismergetree|evalml)\\w*',
    'demangle|catboostevaluate|showcertificate|globalvariable|hascolumnintable',
    'get(server\\w*|macro|mergetreesetting|clienthttpheader|oskernelversion|maxtablename\\w*)',
    '(full)?hostname|fqdn|displayname|serveruuid|tcpport|uptime|build_?id|revision|version|connection_?id|tid|hasthreadfuzzer',
    'merge|view\\w*|loop|eval|input|null|primes|dictionary|executable|fuzz\\w*|remote\\w*|cluster\\w*|generaterandom\\w*',
  ].join('|')})$`,
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
export function treeProblem(tree: string): string | null {
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
  const isTable = kind === 'Identifier' || kind === 'TableIdentifier';
  if (isTable && /^(system|information_schema)\./i.test(name) && !SYSTEM_TABLES.test(name)) {
    return `takes no table ${name}`;
  }
  return null;
}
