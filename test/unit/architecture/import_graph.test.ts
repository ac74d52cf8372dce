// What no linter's rule says: where each vendor's package may be named, and which processes load no destination's adapter.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FILES = execFileSync('git', ['ls-files', '*.ts', '*.tsx'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => /^(schemas|pipelines|infra|services)\//.test(file) && existsSync(join(ROOT, file)));

const SOURCES = new Set(FILES);

/** The folders that may name a package; its types included. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  kafkajs: ['infra/kafka'],
  '@kafkajs/confluent-schema-registry': ['infra/registry'],
  ioredis: ['infra/redis'],
  '@clickhouse/client': ['infra/clickhouse'],
  fastify: ['infra/http', 'services/edge', 'services/control'],
  pino: ['infra/log'],
  'prom-client': ['infra/metrics'],
  // The demo calls the service as anybody's program would.
  undici: ['infra/egress', 'services/local/demo'],
  avsc: ['schemas'],
  esbuild: ['infra/bundler'],
  preact: ['services/dashboard'],
  chdb: ['services/cli/import', 'services/local'],
};

interface Import {
  from: string;
  isType: boolean;
}

const importsOf = (file: string): Import[] =>
  [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^(?:import|export)\s(type\s)?[^'"]*?['"]([^'"]+)['"]/gm)].map(
    ([, type, from = '']) => ({ from, isType: type !== undefined }),
  );

function ownPath(importer: string, from: string): string | null {
  if (from.startsWith('#')) return from.slice(1);
  return from.startsWith('.') ? posix.join(dirname(importer), from) : null;
}

/** The modules that a process loads, as a way from its main to the first that matches. */
function wayTo(main: string, wanted: RegExp): string[] {
  const ways = new Map([[main, [main]]]);
  for (const [file, way] of ways) {
    if (wanted.test(file)) return way;
    for (const { from, isType } of importsOf(file)) {
      const path = isType ? null : ownPath(file, from);
      if (path !== null && !ways.has(path) && SOURCES.has(path)) ways.set(path, [...way, path]);
    }
  }
  return [];
}

test('each vendor is named at home alone', () => {
  const named = new Set<string>();
  const elsewhere = FILES.flatMap((file) =>
    importsOf(file).flatMap(({ from }) => {
      const vendor = Object.keys(HOMES).find((name) => from === name || from.startsWith(`${name}/`));
      if (vendor === undefined) return [];
      named.add(vendor);
      return HOMES[vendor]?.some((home) => file.startsWith(`${home}/`)) === true ? [] : [`${file} names ${vendor}`];
    }),
  );
  expect(elsewhere).toEqual([]);
  expect([...named].sort()).toEqual(Object.keys(HOMES).sort());
});

test.each([
  ['pipelines/intake/', /^pipelines\/delivery\//],
  ['pipelines/events/', /^pipelines\/(intake|delivery)\//],
] as const)('%s imports nothing of those behind it', (folder, behind) => {
  const files = FILES.filter((file) => file.startsWith(folder));
  expect(files).not.toEqual([]);
  const imported = files.flatMap((file) =>
    importsOf(file).flatMap(({ from }) => (behind.test(ownPath(file, from) ?? '') ? [`${file}: ${from}`] : [])),
  );
  expect(imported).toEqual([]);
});

const ADAPTERS = /^pipelines\/delivery\/(destinations\/|registry\.ts$)/;

test.each(['dedup', 'identity', 'quota', 'warehouse', 'edge', 'redelivery'])(
  '%s loads no adapter of a destination',
  (service) => {
    expect(wayTo(`services/${service}/main.ts`, ADAPTERS)).toEqual([]);
  },
);

test('delivery loads them all, as the way there shows', () => {
  expect(wayTo('services/delivery/main.ts', ADAPTERS).at(-1)).toBe('pipelines/delivery/registry.ts');
});
