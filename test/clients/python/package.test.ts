import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CANONICAL_NAMES } from '#pipelines/events/vocabulary.ts';
import { ACTION_SOURCES } from '#schemas/event.ts';
import { untilCounted } from '#test/clients/stored.ts';
import { select } from '#test/harness/clickhouse.ts';
import { childEnvironment } from '#test/harness/environment.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { PACKAGE, SENDER } from './sender.ts';

const TOOLS = ['build==1.3.0', 'mypy==1.18.2', 'ruff==0.14.6'];
const TOOLS_FOLDER = fileURLToPath(
  new URL(`../../../.local/clients/${TOOLS.join('_').replaceAll('==', '-')}`, import.meta.url),
);
const README = readFileSync(join(PACKAGE, 'README.md'), 'utf8');

const service = sharedService();
let site: TestSite;
let project: string;

function run(command: string, words: readonly string[], cwd = project, more: Record<string, string> = {}): string {
  const env = childEnvironment({ PYTHONDONTWRITEBYTECODE: '1', ...more });
  const { status, error, stdout, stderr } = spawnSync(command, words, { cwd, env, encoding: 'utf8' });
  expect(status, `${command} ${words.join(' ')}: ${error?.message ?? ''}${stdout}${stderr}`).toBe(0);
  return stdout + stderr;
}

/** Tools of Python, put into a folder of .local once. */
function tool(name: string): string {
  if (!existsSync(join(TOOLS_FOLDER, 'bin/ruff'))) {
    run('python3', ['-m', 'venv', TOOLS_FOLDER]);
    run(join(TOOLS_FOLDER, 'bin/pip'), ['install', '--quiet', ...TOOLS]);
  }
  return join(TOOLS_FOLDER, 'bin', name);
}

beforeAll(async () => {
  site = await makeSite(service);
  project = mkdtempSync(join(tmpdir(), 'client-project-'));
  cpSync(PACKAGE, join(project, 'source'), { recursive: true });
  run(tool('python'), ['-m', 'build', '--outdir', project, 'source']);
  run('python3', ['-m', 'venv', 'installed']);
  const [wheel = ''] = readdirSync(project).filter((name) => name.endsWith('.whl'));
  run('installed/bin/pip', ['install', '--quiet', '--no-index', '--no-deps', wheel]);
});
afterAll(async () => {
  rmSync(project, { recursive: true, force: true });
  await site.close();
});

test('its unit tests pass', () => {
  const said = run('python3', ['-W', 'error', '-m', 'unittest', '-q'], PACKAGE, { PYTHONPATH: 'src' });
  expect(Number(/^Ran (\d+) tests/m.exec(said)?.[1])).toBeGreaterThan(90);
});

test('it is typed, formatted and without what a linter finds', () => {
  run(
    tool('mypy'),
    ['--config-file', 'pyproject.toml', '--cache-dir', join(project, 'mypy'), 'src', 'tests', SENDER],
    PACKAGE,
  );
  run(tool('ruff'), ['check', '--no-cache', '.', SENDER], PACKAGE);
  run(tool('ruff'), ['format', '--no-cache', '--check', '.', SENDER], PACKAGE);
});

test('programs that use it are type-checked', () => {
  writeFileSync(
    join(project, 'typed.py'),
    `from decimal import Decimal
from event_ingest_client import Client, DeliveryError, Properties, from_request
told: list[DeliveryError] = []
client = Client("https://edge.example", "k", journal="j", on_error=told.append)
properties: Properties = {"value": Decimal("1"), "items": [{"item_id": "a", "quantity": 2}]}
client.track({"event": "purchase", "properties": properties})
client.track({"event": "my own", "properties": {"mine": True}}, from_request(object()))
client.track_offline({"event": "purchase"}, "phone_call")
client.track_offline({"event": "purchase"}, "pigeon")  # type: ignore[arg-type]
wrong: Properties = {"value": "much"}  # type: ignore[typeddict-item]
client.track({"name": "purchase"})  # type: ignore[typeddict-unknown-key, typeddict-item]
`,
  );
  run(tool('mypy'), ['--strict', '--warn-unused-ignores', '--python-executable', 'installed/bin/python', 'typed.py']);
});

test('the wheel holds the package and nothing else', () => {
  const listed = run('installed/bin/python', ['-m', 'pip', 'show', '--files', 'event-ingest-client']);
  const files = [...listed.matchAll(/^ {2}(event_ingest_client\/[^_].*)$/gm)].map(([, path = '']) => path);
  const sources = readdirSync(join(PACKAGE, 'src/event_ingest_client'))
    .filter((name) => !name.startsWith('_'))
    .map((name) => `event_ingest_client/${name}`);
  expect(files.sort()).toEqual(sources.sort());
  expect(/^Requires: *$/m.test(listed)).toBe(true);
});

test('it knows the names that the service knows', () => {
  const script =
    'import json; from typing import get_args; from event_ingest_client.events import ConversionName, OFFLINE_SOURCES; ' +
    'print(json.dumps([get_args(ConversionName), OFFLINE_SOURCES]))';
  const [names, sources] = JSON.parse(run('installed/bin/python', ['-c', script])) as [string[], string[]];
  expect(names).toEqual(CANONICAL_NAMES);
  expect([...sources, 'website'].sort()).toEqual([...ACTION_SOURCES].sort());
});

const EXAMPLES = [...README.matchAll(/```python\n([\s\S]*?)```/g)].map(([, code = '']) => code);

test('the examples of its page run as they stand, and what they send is stored', async () => {
  const env = { SVC_URL: service.ready.edge, SVC_KEY: site.serverKey };
  const said = EXAMPLES.map((code) => run('installed/bin/python', ['-c', code], project, env));
  expect(said).toEqual(['', '', '', 'rejected event_not_serialisable None\n']);
  await untilCounted(service, site.site, 3);
  const rows = await select<Record<string, unknown>>(
    service.ready.clickhouse,
    `SELECT event, event_id, distinct_id, action_source, value
     FROM events WHERE site_id = {site:String}`,
    { site: site.site },
  );
  expect(rows).toHaveLength(3);
  for (const row of [
    { event: 'purchase', event_id: 'order-5001', distinct_id: 'customer-1', value: 12.5 },
    { event: 'begin_checkout', distinct_id: '0199c0de-0000-7000-8000-000000000001' },
    { event: 'purchase', event_id: 'till-7-20385', action_source: 'physical_store', value: 80 },
  ]) {
    expect(rows).toContainEqual(expect.objectContaining(row));
  }
});
