// The rules of .oxlintrc.json that hold the house together: that the tree keeps them, and that each of them bites.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const OXLINT = join(ROOT, 'node_modules/.bin/oxlint');
const planted = mkdtempSync(join(tmpdir(), 'import-rules-'));
afterAll(() => rmSync(planted, { recursive: true, force: true }));

/** What the linter says of the files of a folder, a line for each finding. */
function findings(folder: string): string[] {
  const { stdout } = spawnSync(OXLINT, ['--format', 'unix'], { cwd: folder, encoding: 'utf8' });
  return stdout.split('\n').filter((line) => /:\d+:\d+:/.test(line));
}

test('the tree keeps the rules', () => {
  expect(findings(ROOT)).toEqual([]);
});

test('each rule finds what breaks it', () => {
  const faults: Record<string, string> = {
    'schemas/knows_a_decision.ts': `export { a } from '#pipelines/dedup/dedup.ts';`,
    'pipelines/dedup/knows_a_vendor.ts': `import type { Kafka } from 'kafkajs';\nexport type A = Kafka;`,
    'pipelines/dedup/knows_infra.ts': `import { a } from '../../infra/redis/client.ts';\nexport const b = a;`,
    'pipelines/dedup/circle.ts': `import { b } from './circle_again.ts';\nexport const a = (): number => b();`,
    'pipelines/dedup/circle_again.ts': `import { a } from './circle.ts';\nexport const b = (): number => a();`,
    'pipelines/dedup/reads_environment.ts': `export const a = process.env['HOME'];`,
    'infra/redis/knows_a_service.ts': `import { a } from '#services/stage/runtime.ts';\nexport const b = a;`,
    'services/edge/knows_a_vendor.ts': `import { Redis } from 'ioredis';\nexport const a = Redis;`,
    'services/edge/knows_an_adapter.ts': `import { A } from '#pipelines/delivery/registry.ts';\nexport const a = A;`,
    'services/edge/asks_the_socket.ts': `export const a = (request: { ip: string }): string => request.ip;`,
    'services/control/knows_the_edge.ts': `import { a } from '#services/edge/ingest.ts';\nexport const b = a;`,
    'services/control/knows_the_workshop.ts': `import { a } from '../local/start/main.ts';\nexport const b = a;`,
    'services/local/knows_a_process.ts': `import { a } from '#services/delivery/main.ts';\nexport const b = a;`,
  };
  cpSync(join(ROOT, '.oxlintrc.json'), join(planted, '.oxlintrc.json'));
  for (const [path, source] of Object.entries(faults)) {
    mkdirSync(dirname(join(planted, path)), { recursive: true });
    writeFileSync(join(planted, path), `${source}\n`);
  }
  writeFileSync(
    join(planted, 'pipelines/dedup/sound.ts'),
    `import { a } from '#schemas/event.ts';\nexport const b = a;\n`,
  );
  writeFileSync(join(planted, 'package.json'), '{"type":"module"}');
  const found = new Set(findings(planted).map((line) => line.slice(0, line.indexOf(':'))));
  expect([...found].sort()).toEqual(Object.keys(faults).sort());
});
