import { expect, test } from 'vitest';
import { type Packages, violationsOf } from './rules.ts';
import { moduleOf } from './source.ts';

const packages: Packages = {
  shipped: new Set(['kafkajs', '@kafkajs/confluent-schema-registry', 'fastify', 'undici', 'avsc', 'chdb', 'uuid']),
  development: new Set(['vitest', 'fast-check']),
};

const PLANTED: [place: string, source: string, problem: string][] = [
  ['schemas/a.ts', "import { b } from '#pipelines/b.ts';", 'schemas knows nothing of pipelines'],
  ['pipelines/a.ts', "import type { B } from '#infra/b.ts';", 'pipelines knows nothing of infra'],
  ['pipelines/a/b.ts', "export { c } from '../../infra/c.ts';", 'pipelines knows nothing of infra'],
  ['pipelines/a.ts', "export * from '#services/b.ts';", 'pipelines knows nothing of services'],
  ['infra/a.ts', "const b = await import('#services/b.ts');", 'infra knows nothing of services'],
  ['infra/a.ts', "type B = import('#services/b.ts').B;", 'infra knows nothing of services'],
  ['infra/a.ts', "type B = typeof import('../services/b.ts');", 'infra knows nothing of services'],
  ['services/a.ts', "import '#test/b.ts';", 'services knows nothing of test'],
  ['services/edge/a.ts', "import { b } from '#services/dedup/b.ts';", 'no service knows the inside of another'],
  ['services/cli/a.ts', "import type { B } from '../control/b.ts';", 'no service knows the inside of another'],
  ['services/a.ts', "import { b } from './edge/b.ts';", 'no service knows the inside of another'],
  [
    'services/control_api/a.ts',
    "import { b } from '#services/control/b.ts';",
    'no service knows the inside of another',
  ],
  ['services/a.ts', "import '../vitest.config.ts';", 'in no folder of the house'],
  ['test/a.ts', "import '/home/me/b.ts';", 'in no folder of the house'],
  ['services/a.ts', "import { Kafka } from 'kafkajs';", 'whose home is infra/kafka'],
  ['services/a.ts', "import type { Kafka } from 'kafkajs';", 'whose home is infra/kafka'],
  ['services/a.ts', "export type { Kafka } from 'kafkajs';", 'whose home is infra/kafka'],
  ['services/a.ts', "let kafka: import('kafkajs').Kafka;", 'whose home is infra/kafka'],
  ['infra/kafka2/a.ts', "import { Kafka } from 'kafkajs';", 'whose home is infra/kafka'],
  ['infra/kafka/a.ts', "import '@kafkajs/confluent-schema-registry';", 'whose home is infra/registry'],
  ['services/edge/a.ts', "import type { A } from 'fastify/types/a.js';", 'whose home is infra/http'],
  ['services/edge/a.ts', "import { request } from 'undici';", 'whose home is infra/egress, services/local/demo'],
  ['infra/a.ts', "import avsc = require('avsc');", 'whose home is schemas'],
  ['infra/a.ts', "require('chdb');", 'whose home is infra/local'],
  ['infra/a.ts', "import.meta.resolve('chdb');", 'whose home is infra/local'],
  ['infra/a.ts', "import fc from 'fast-check';", 'only tests may use'],
  ['test/a.ts', "import semver from 'semver';", 'package.json does not list'],
  ['infra/kafka/a.ts', 'const name = "x"; await import(name);', 'name is computed'],
  ['services/a.ts', 'const b = process.env.B;', 'process.env'],
  ['services/a.ts', "const b = process['env']['B'];", 'process.env'],
  ['services/a.ts', 'const { env } = process;', 'process.env'],
  ['services/a.ts', 'const { env: b } = globalThis.process;', 'process.env'],
  ['services/a.ts', "import { env } from 'node:process';", 'process.env'],
  ['services/config/a.ts', 'const b = process.env.B;', 'process.env'],
  ['services/a.ts', "const sql = 'SELECT 1';", 'whose home is infra/clickhouse'],
  ['pipelines/a.ts', 'const sql = `\n  INSERT INTO a VALUES`;', 'whose home is infra/clickhouse'],
  ['pipelines/a.ts', 'const sql = [`CREATE TABLE a`];', 'whose home is infra/clickhouse'],
  ['infra/kafka/a.ts', "run('ALTER TABLE a');", 'whose home is infra/clickhouse'],
  ['services/edge/a.ts', 'const a = request.ip;', 'may be gone'],
  ['services/edge/a.ts', 'const { remoteAddress } = request.raw.socket;', 'may be gone'],
];

test.for(PLANTED)('in %s: %s', ([place, source, problem]) => {
  expect(violationsOf(moduleOf(place, source), packages)).toEqual([expect.stringContaining(problem)]);
});

const SOUND: [place: string, source: string][] = [
  ['schemas/a.ts', "import avsc from 'avsc'; import { b } from './b.ts'; import { c } from 'node:fs';"],
  [
    'services/a.ts',
    "import '#infra/b.ts'; import '#pipelines/b.ts'; import '#schemas/b.ts'; import { v7 } from 'uuid';",
  ],
  ['services/edge/a.ts', "import './b.ts'; import '#services/edge/c/d.ts'; import '#services/e.ts';"],
  ['services/local/start/a.ts', "import '#services/local/supervisor/b.ts'; import '#services/control_api/b.ts';"],
  ['services/control/a.ts', "import '#services/control_api/b.ts';"],
  ['infra/kafka/deep/a.ts', "import type { Kafka } from 'kafkajs';"],
  ['services/local/demo/a.ts', "import { request } from 'undici';"],
  ['test/a.ts', "import 'kafkajs'; import '#services/b.ts'; import 'fast-check';"],
  ['test/a.ts', 'await import(name);'],
  ['services/a.ts', "// import 'kafkajs';\nconst text = \"import 'kafkajs'\"; const env = { process: 1 }.process;"],
  ['infra/clickhouse/queries/a.ts', "const sql = 'SELECT 1';"],
  ['services/a.ts', "// SELECT 1\nconst text = 'SELECTED'; const other = `select SELECT 1`;"],
  ['infra/config/config.ts', 'const b = process.env;'],
  ['infra/local/environment.ts', 'const b = process.env;'],
];

test.for(SOUND)('nothing wrong in %s: %s', ([place, source]) => {
  expect(violationsOf(moduleOf(place, source), packages)).toEqual([]);
});
