import { ownPath } from './import_graph.ts';
import type { Module } from './source.ts';

/** Imports go one way: each of these folders knows only itself and those before it. */
const FOLDERS = ['schemas', 'pipelines', 'infra', 'services', 'test'];

/**
 * The folders of services/ that are no process but what several of them have: how the control service is talked to, and the
 * panels that visitors see and the dashboard previews.
 */
const SHARED_BY_SERVICES = ['control_api', 'engage_panels'];

/**
 * Where each vendor's package may be named, its types included. Tests may name all: they check what a vendor's part
 * holds without asking our own code.
 */
const HOMES: Record<string, string[]> = {
  kafkajs: ['infra/kafka'],
  '@kafkajs/confluent-schema-registry': ['infra/registry'],
  ioredis: ['infra/redis'],
  '@clickhouse/client': ['infra/clickhouse'],
  fastify: ['infra/http'],
  pino: ['infra/log'],
  'prom-client': ['infra/metrics'],
  // The demo is a client from outside: it calls the service as anybody's program would.
  undici: ['infra/egress', 'services/local/demo'],
  avsc: ['schemas'],
  esbuild: ['infra/bundler'],
  preact: ['services/dashboard'],
  '@preact/signals': ['services/dashboard'],
  uplot: ['services/dashboard/src/charts'],
  uqr: ['services/dashboard/src/pages/account'],
  chdb: ['infra/local'],
  '@chdb/lib-linux-x64-gnu': ['infra/local'],
  'ffi-rs': ['infra/local'],
};

/** What a request says of its connection is undefined once that is gone; infra/http remembers what is needed. */
const OF_SOCKET = /\brequest\.(?:ips?|socket|host|hostname|port|protocol)\b|\.raw\.(?:socket|connection)\b/;

function asksSocket({ path, source }: Module): boolean {
  return isIn(path, 'services') && OF_SOCKET.test(source);
}

/** ClickHouse's dialect is spoken where it is at home, where its privileges are listed, and where the local server is set up. */
const SQL_HOMES = ['infra/clickhouse', 'infra/rights', 'infra/local/clickhouse', 'test'];
const SQL =
  /^\s*(?:SELECT|INSERT INTO|CREATE|ALTER|DROP|OPTIMIZE|TRUNCATE|DELETE FROM|WITH|SYSTEM|EXISTS|GRANT|REVOKE)\s/;

function holdsForeignSql({ path, texts }: Module): boolean {
  return !SQL_HOMES.some((home) => isIn(path, home)) && texts.some((text) => SQL.test(text));
}

/** Only these read process.env. */
const ENVIRONMENT_FILE = /(config|env)[^/]*$/;

/** The packages of package.json. */
export interface Packages {
  /** What runs in production, and what only a developer's machine may have. */
  shipped: ReadonlySet<string>;
  development: ReadonlySet<string>;
}

/** What breaks the rules of the house in one file, in words. */
export function violationsOf(module: Module, packages: Packages): string[] {
  const { path } = module;
  return [
    ...module.imports.flatMap((specifier) => violationOf(path, specifier, packages)),
    ...(module.computedImports > 0 && !isIn(path, 'test') ? ['imports a module whose name is computed'] : []),
    ...(asksSocket(module) ? ['asks a request for its socket or address, which may be gone'] : []),
    ...(holdsForeignSql(module) ? ['holds SQL, whose home is infra/clickhouse'] : []),
    ...(module.readsEnvironment && !ENVIRONMENT_FILE.test(path) ? ['reads process.env outside configuration'] : []),
  ].map((problem) => `${path} ${problem}`);
}

function violationOf(path: string, specifier: string, packages: Packages): string[] {
  if (specifier.startsWith('node:')) return [];
  const target = ownPath(path, specifier);
  return target === undefined ? ofPackage(path, packageOf(specifier), packages) : ofOwn(path, target);
}

function ofOwn(path: string, target: string): string[] {
  const from = rankOf(path);
  const to = rankOf(target);
  if (to < 0) return [`imports ${target}, which is in no folder of the house`];
  const service = serviceOf(target);
  if (isIn(path, 'services') && service !== null && service !== serviceOf(path)) {
    return [`imports ${target}: no service knows the inside of another`];
  }
  return from < to ? [`imports ${target}: ${FOLDERS[from]} knows nothing of ${FOLDERS[to]}`] : [];
}

function rankOf(path: string): number {
  return FOLDERS.indexOf(path.split('/')[0] ?? '');
}

/** The service whose inside a path is; null for what services share, and outside of services/. */
function serviceOf(path: string): string | null {
  const [folder, service = '', ...rest] = path.split('/');
  return folder === 'services' && rest.length > 0 && !SHARED_BY_SERVICES.includes(service) ? service : null;
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
}

function ofPackage(path: string, name: string, { shipped, development }: Packages): string[] {
  if (!shipped.has(name) && !development.has(name)) return [`imports ${name}, which package.json does not list`];
  if (isIn(path, 'test')) return [];
  const homes = HOMES[name];
  if (homes !== undefined) {
    return homes.some((home) => isIn(path, home)) ? [] : [`imports ${name}, whose home is ${homes.join(', ')}`];
  }
  return shipped.has(name) ? [] : [`imports ${name}, which only tests may use`];
}

function isIn(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}
