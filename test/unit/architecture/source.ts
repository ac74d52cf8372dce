import { parseAst } from 'vitest/node';

/** A module and what its source reaches for. */
export interface Module {
  /** From the repository's root. */
  path: string;
  source: string;
  /** Specifiers of every import and re-export: static, dynamic, of types only, by require. */
  imports: string[];
  /** Places where a module is named by something other than a literal, so that nobody can tell which it is. */
  computedImports: number;
  readsEnvironment: boolean;
  /** Literals and the beginnings of templates. */
  texts: string[];
}

interface Node {
  type: string;
  [field: string]: unknown;
}

/** Parses a TypeScript or JavaScript module and collects what it reaches for. */
export function moduleOf(path: string, source: string): Module {
  const module: Module = {
    path,
    source,
    imports: [],
    computedImports: 0,
    readsEnvironment: false,
    texts: [],
  };
  visit(parseAst(source, { lang: path.endsWith('x') ? 'tsx' : 'ts' }), module);
  return module;
}

function visit(value: unknown, module: Module): void {
  if (typeof value !== 'object' || value === null) return;
  if (isNode(value)) note(value, module);
  for (const child of Object.values(value)) visit(child, module);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Node>).type === 'string';
}

function note(node: Node, module: Module): void {
  for (const named of modulesNamedBy(node)) {
    const specifier = literal(named);
    if (specifier === undefined) module.computedImports += 1;
    else module.imports.push(specifier);
  }
  if (readsEnvironment(node)) module.readsEnvironment = true;
  module.texts.push(...textsOf(node));
}

function textsOf(node: Node): string[] {
  if (node.type === 'TemplateLiteral') {
    const [first] = node['quasis'] as { value: { raw: string } }[];
    return first === undefined ? [] : [first.value.raw];
  }
  return [literal(node)].filter((text) => text !== undefined);
}

/** The expressions by which a node names a module. */
function modulesNamedBy(node: Node): unknown[] {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ImportExpression':
    case 'ExportAllDeclaration':
    case 'TSImportType':
      return [node['source']];
    case 'ExportNamedDeclaration':
      return isNode(node['source']) ? [node['source']] : [];
    case 'TSExternalModuleReference':
      return [node['expression']];
    case 'CallExpression':
      return isRequire(node['callee']) ? (node['arguments'] as unknown[]).slice(0, 1) : [];
    default:
      return [];
  }
}

/** `require(…)`, `require.resolve(…)` and `import.meta.resolve(…)`. */
function isRequire(callee: unknown): boolean {
  if (nameOf(callee) === 'require') return true;
  if (!isNode(callee) || callee.type !== 'MemberExpression' || propertyOf(callee) !== 'resolve') return false;
  const object = callee['object'];
  return nameOf(object) === 'require' || (isNode(object) && object.type === 'MetaProperty');
}

function readsEnvironment(node: Node): boolean {
  switch (node.type) {
    case 'MemberExpression':
      return propertyOf(node) === 'env' && (isProcess(node['object']) || isMeta(node['object']));
    case 'VariableDeclarator':
      return isProcess(node['init']) && keysOf(node['id']).includes('env');
    case 'ImportDeclaration':
      return /^(node:)?process$/.test(literal(node['source']) ?? '');
    default:
      return false;
  }
}

const isMeta = (value: unknown): boolean => isNode(value) && value.type === 'MetaProperty';

function isProcess(value: unknown): boolean {
  if (nameOf(value) === 'process') return true;
  return isNode(value) && value.type === 'MemberExpression' && propertyOf(value) === 'process';
}

function keysOf(pattern: unknown): unknown[] {
  if (!isNode(pattern) || pattern.type !== 'ObjectPattern') return [];
  return (pattern['properties'] as Node[]).map(({ key }) => nameOf(key) ?? literal(key));
}

function propertyOf(member: Node): string | undefined {
  return member['computed'] === true ? literal(member['property']) : nameOf(member['property']);
}

function nameOf(value: unknown): string | undefined {
  return isNode(value) && value.type === 'Identifier' ? String(value['name']) : undefined;
}

function literal(value: unknown): string | undefined {
  return isNode(value) && value.type === 'Literal' && typeof value['value'] === 'string' ? value['value'] : undefined;
}
