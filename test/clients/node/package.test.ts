import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { untilCounted } from '#test/clients/stored.ts';
import { select } from '#test/harness/clickhouse.ts';
import { childEnvironment } from '#test/harness/environment.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PACKAGE = join(ROOT, 'clients/node');
const README = readFileSync(join(PACKAGE, 'README.md'), 'utf8');

const service = sharedService();
let site: TestSite;
let project: string;

function run(command: string, words: readonly string[], cwd: string): string {
  const env = childEnvironment({ SVC_URL: service.ready.edge, SVC_KEY: site.serverKey });
  const { status, stdout, stderr } = spawnSync(command, words, { cwd, env, encoding: 'utf8' });
  expect(status, `${command} ${words.join(' ')}: ${stdout}${stderr}`).toBe(0);
  return stdout;
}

beforeAll(async () => {
  site = await makeSite(service);
  project = mkdtempSync(join(tmpdir(), 'client-project-'));
  rmSync(join(PACKAGE, 'dist'), { recursive: true, force: true });
  run('npm', ['pack', '--silent', '--pack-destination', project], PACKAGE);
  writeFileSync(join(project, 'package.json'), '{"private":true,"type":"module"}');
  const [archive = ''] = readdirSync(project).filter((name) => name.endsWith('.tgz'));
  run('npm', ['install', '--silent', '--offline', '--ignore-scripts', `./${archive}`], project);
});
afterAll(async () => {
  rmSync(project, { recursive: true, force: true });
  await site.close();
});

test('the package holds what was built and nothing else', () => {
  const installed = join(project, 'node_modules/event-ingest-client');
  expect(readdirSync(installed).sort()).toEqual(['README.md', 'dist', 'package.json']);
  const sources = readdirSync(join(PACKAGE, 'src')).map((name) => name.replace(/\.ts$/, ''));
  const built = sources.flatMap((name) => [`${name}.d.ts`, `${name}.js`]);
  expect(readdirSync(join(installed, 'dist')).sort()).toEqual([...built, 'cjs'].sort());
  expect(readdirSync(join(installed, 'dist/cjs')).sort()).toEqual([...built, 'package.json'].sort());
});

test('it is imported, required and type-checked', () => {
  writeFileSync(
    join(project, 'required.cjs'),
    `const { Client, fromRequest } = require('event-ingest-client');
     const { openJournal } = require('event-ingest-client/journal');
     console.log(typeof Client, typeof fromRequest, typeof openJournal);`,
  );
  // As AWS Lambda runs it, where `require` takes no ES modules.
  const said = run(process.execPath, ['--no-experimental-require-module', 'required.cjs'], project);
  expect(said).toBe('function function function\n');
  writeFileSync(
    join(project, 'typed.ts'),
    `import { Client, type ClientProblem, fromRequest, type Tracked } from 'event-ingest-client';
     import { openJournal } from 'event-ingest-client/journal';
     const told: ClientProblem[] = [];
     const client = new Client({
       url: 'https://edge.example', key: 'k', fetch: globalThis.fetch, journal: openJournal('j'), onError: (one) => told.push(one),
     });
     const tracked: Tracked = client.track({ event: 'purchase', properties: { value: 1, items: [{ item_id: 'a' }], mine: true } });
     client.track({ event: 'my own', shopper: fromRequest(new Request('https://a.example')) });
     client.trackOffline({ event: 'purchase', actionSource: 'phone_call' });
     // @ts-expect-error
     client.trackOffline({ event: 'purchase', actionSource: 'pigeon' });
     // @ts-expect-error
     client.track({ event: 'purchase', properties: { value: 'much' } });
     interface Order { value: number; currency: string; items: { item_id: string }[] }
     const order = (): Order => ({ value: 1, currency: 'EUR', items: [] });
     client.track({ event: 'purchase', properties: order() });
     if (tracked.ok) tracked.uuid.trim(); else tracked.message.trim();`,
  );
  cpSync(join(project, 'typed.ts'), join(project, 'typed.cts'));
  const strict = ['--strict', '--noEmit', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false', '--types', ''];
  const tsc = (...options: string[]): string =>
    run(join(ROOT, 'node_modules/.bin/tsc'), ['--ignoreConfig', ...strict, ...options], project);
  const platform = ['--target', 'es2022', '--lib', 'es2022,dom'];
  for (const module of ['node16', 'nodenext']) tsc(...platform, '--module', module, 'typed.ts', 'typed.cts');
  tsc(...platform, '--module', 'commonjs', '--moduleResolution', 'bundler', 'typed.cts');
});

test('a process that does not shut the client down ends all the same', () => {
  writeFileSync(
    join(project, 'left.js'),
    `import { Client } from 'event-ingest-client';
     const client = new Client({ url: 'http://127.0.0.1:9', key: 'k', flushAt: 1, retryBaseMs: 80_000_000, retryMaxMs: 80_000_000 });
     client.track({ event: 'e' });
     new Client({ url: 'http://127.0.0.1:9', key: 'k', flushIntervalMs: 80_000_000 }).track({ event: 'e' });`,
  );
  run(process.execPath, ['left.js'], project);
});

const EXAMPLES = [...README.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code = '']) => code);

test('the examples of the page run as they stand, and what they send is stored', async () => {
  for (const [at, code] of EXAMPLES.entries()) {
    writeFileSync(join(project, `example-${at}.js`), code);
    run(process.execPath, [`example-${at}.js`], project);
  }
  await untilCounted(service, site.site, 5);
  const rows = await select<Record<string, unknown>>(
    service.ready.clickhouse,
    `SELECT event, distinct_id, action_source, value, toBool(email_sha256 != '') AS hashed FROM events
     WHERE site_id = {site:String}`,
    { site: site.site },
  );
  expect(rows).toHaveLength(5);
  for (const row of [
    { event: 'purchase', distinct_id: 'customer-1', value: 12.5, action_source: 'website' },
    { event: '$identify', distinct_id: 'customer-2', hashed: true },
    { event: 'sign_up', distinct_id: 'customer-2' },
    { event: 'purchase', value: 80, action_source: 'physical_store', hashed: true },
    { event: 'page_view', distinct_id: 'customer-3' },
  ]) {
    expect(rows).toContainEqual(expect.objectContaining(row));
  }
});
