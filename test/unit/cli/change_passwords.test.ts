import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loginDigest } from '#infra/rights/logins.ts';
import { passwordChanges } from '#services/cli/password/change_passwords.ts';
import { filesIn } from '#services/cli/password/environment_files.ts';
import { mechanismIn, withLogins } from '#services/cli/password/file_logins.ts';
import { type LocalRotation, requestPath, statePath } from '#services/stage/local_rotation.ts';

let folder: string;
let elapsedMs: number;
let said: string[];
/** What happens while the command waits. */
let meanwhile: () => void;
let metrics: Record<string, string>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'passwords-'));
  elapsedMs = 0;
  said = [];
  meanwhile = () => undefined;
  metrics = {};
});
afterEach(() => rmSync(folder, { recursive: true }));

const changes = () =>
  passwordChanges({
    // Nothing listens there: what is refused is so before anything is asked of a part.
    env: {
      LOCAL_DIR: folder,
      KAFKA_BROKERS: '127.0.0.1:1',
      REDIS_URL: 'redis://svc:own@127.0.0.1:1',
      CLICKHOUSE_URL: 'http://svc:own@127.0.0.1:1/svc',
    },
    clock: {
      elapsedMs: () => elapsedMs,
      async sleep(ms) {
        elapsedMs += ms;
        meanwhile();
      },
    },
    nowMs: () => 0,
    metricsOf: async (url) => metrics[url] ?? null,
    say: (line) => void said.push(line),
  });

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}
const contents = (): Record<string, string> =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));

const KAFKA = 'KAFKA_SASL_USERNAME=svc_edge\nKAFKA_SASL_PASSWORD=secret\n';
const DEDUP = KAFKA.replace('edge', 'dedup');
const SETTINGS = 'KAFKA_SASL_MECHANISM=scram-sha-512\n';

test.each([
  [
    'kafka',
    { 'settings.env': SETTINGS, 'edge.env': KAFKA, 'quota.env': 'KAFKA_SASL_USERNAME=svc_quota\n' },
    'password_elsewhere',
  ],
  ['kafka', { 'settings.env': SETTINGS, 'edge.env': 'KAFKA_SASL_PASSWORD=secret\n' }, 'password_elsewhere'],
  ['kafka', { 'edge.env': KAFKA }, 'mechanism_unknown'],
  ['kafka', { 'settings.env': 'KAFKA_SASL_MECHANISM=plain\n', 'edge.env': KAFKA }, 'mechanism_unknown'],
  [
    'kafka',
    { 'settings.env': SETTINGS, 'edge.env': KAFKA, 'dedup.env': `KAFKA_SASL_MECHANISM=scram-sha-256\n${DEDUP}` },
    'mechanism_unknown',
  ],
  ['redis', { 'edge.env': 'REDIS_URL=redis://a:secret@h\nREDIS_URL=redis://b:secret@h\n' }, 'variable_unreadable'],
  ['kafka', { 'settings.env': SETTINGS + SETTINGS, 'edge.env': KAFKA }, 'variable_unreadable'],
  ['redis', { 'edge.env': 'REDIS_URL=redis://a:b@h\n', 'kafka.rotation.json': '{}' }, 'rotation_unfinished'],
  [
    'redis',
    { 'edge.env': 'REDIS_URL=redis://a:b@h\n', 'redis.rotation.json': '{"passwords":{"a":"secret"' },
    'rotation_file_broken',
  ],
  ['redis', { 'a.env': 'REDIS_URL=redis://a:secret@h\n', 'b.env': 'REDIS_URL=redis://b:secret@i\n' }, 'servers_differ'],
  [
    'kafka',
    { 'a.env': `KAFKA_BROKERS=a:1,b:1\n${KAFKA}`, 'b.env': `KAFKA_BROKERS=b:1\n${SETTINGS}${DEDUP}` },
    'servers_differ',
  ],
  [
    'clickhouse',
    { 'a.env': 'CLICKHOUSE_URL=http://a:secret@h:1/svc\n', 'b.env': 'CLICKHOUSE_URL=http://a:secret@i:1/svc\n' },
    'servers_differ',
  ],
  ['clickhouse', { 'a.env': 'CLICKHOUSE_URL=http://a:secret@h:1/other\n' }, 'database_differs'],
  ['redis', { 'redis.rotation.json': '{"passwords":{"a":["secret"]},"mechanism":null}' }, 'rotation_file_broken'],
  ['redis', { 'rotation.lock': `{"pid":${process.pid},"since":"now"}` }, 'rotation_running'],
] as const)('rotate %s of %j is refused before anything changes: %s', async (part, files, code) => {
  write(files);
  const before = contents();
  const refused = await changes()
    .rotateIn(part, folder)
    .catch((error: Error) => error);
  expect(refused).toMatchObject({ code });
  const named = { rotation_unfinished: 'svc password rotate kafka', mechanism_unknown: 'KAFKA_SASL_MECHANISM' };
  expect(String(refused)).toContain(code in named ? named[code as keyof typeof named] : folder);
  expect(String(refused)).not.toContain('secret');
  expect(contents()).toEqual(before);
});

test('the mechanism goes with the password into each file that has one, and into no other', () => {
  write({
    'settings.env': SETTINGS,
    'edge-1.env': `${SETTINGS}${KAFKA}`,
    'dedup.env': `# its own\nexport KAFKA_SASL_USERNAME=svc_dedup\nexport KAFKA_SASL_PASSWORD="secret"\nMETRICS_PORT=1\n`,
    'none.env': 'METRICS_PORT=1\n',
  });
  const files = filesIn(folder);
  expect(mechanismIn(files)).toBe('scram-sha-512');
  const plan = { passwords: { svc_edge: 'new1', svc_dedup: 'new2' }, mechanism: 'scram-sha-256' } as const;
  const texts = files.map((file) => ({ ...file, text: withLogins('kafka', file, plan) }));
  expect(Object.fromEntries(texts.map(({ names: [name], text }) => [name, text]))).toEqual({
    'settings.env': SETTINGS,
    'edge-1.env': 'KAFKA_SASL_MECHANISM=scram-sha-256\nKAFKA_SASL_USERNAME=svc_edge\nKAFKA_SASL_PASSWORD=new1\n',
    'dedup.env':
      '# its own\nexport KAFKA_SASL_USERNAME=svc_dedup\nexport KAFKA_SASL_PASSWORD="new2"\nexport KAFKA_SASL_MECHANISM="scram-sha-256"\nMETRICS_PORT=1\n',
    'none.env': 'METRICS_PORT=1\n',
  });
  expect(mechanismIn(files.filter(({ names: [name] }) => name !== 'settings.env'))).toBe('scram-sha-512');
  // The next time the files' own one counts.
  expect(mechanismIn(texts)).toBe('scram-sha-256');
  expect(texts.map((file) => withLogins('kafka', file, plan))).toEqual(texts.map(({ text }) => text));
});

test('files that are links are known by the names of the links', () => {
  mkdirSync(join(folder, 'store'));
  write({ 'store/a1': 'REDIS_URL=redis://svc_a:its@h\n', 'store/b2': 'REDIS_URL=redis://svc_b:its@h\n' });
  for (const name of ['edge-1', 'edge-2']) symlinkSync(join(folder, 'store/a1'), join(folder, `${name}.env`));
  symlinkSync(join(folder, 'store/b2'), join(folder, 'provision.env'));
  expect(filesIn(folder).map(({ names }) => names)).toEqual([['edge-1.env', 'edge-2.env'], ['provision.env']]);
});

const login = (user: string, password: string): string =>
  `svc_login{part="redis",user="${user}",digest="${loginDigest('redis', user, password)}"} 1\n`;

test.each([
  ['one that does not answer', {}, 'process_silent'],
  ['one that does not say as whom it signs in', { a: 'svc_events_total 1\n' }, 'process_unasked'],
  ['one by an old password', { a: login('svc_edge', 'old') }, 'password_in_use'],
  ['one of two that files name of a user', { a: login('svc_delivery', 'its') }, 'process_unasked'],
])('finish refuses where processes are %s', async (_name, told, code) => {
  write({
    'edge.env': 'REDIS_URL=redis://svc_edge:its@127.0.0.1:1\n',
    'delivery-meta.env': 'REDIS_URL=redis://svc_delivery:its@127.0.0.1:1\n',
    'delivery-ga4.env': 'REDIS_URL=redis://svc_delivery:its@127.0.0.1:1\n',
  });
  metrics = told;
  await expect(changes().finishIn('redis', folder, ['a'])).rejects.toMatchObject({ code });
});

test('a process counts once, however many addresses it was asked at', async () => {
  write({
    'edge-1.env': 'REDIS_URL=redis://svc_edge:its@127.0.0.1:1\n',
    'edge-2.env': 'REDIS_URL=redis://svc_edge:its@127.0.0.1:1\n',
  });
  const ofProcess = (process: string): string => login('svc_edge', 'its').replace('}', `,process="${process}"}`);
  metrics = { a: ofProcess('1'), b: ofProcess('1'), c: ofProcess('2') };
  await expect(changes().finishIn('redis', folder, ['a', 'b'])).rejects.toMatchObject({ code: 'process_unasked' });
  // Nothing is left to refuse but that Redis is not there.
  await expect(changes().finishIn('redis', folder, ['a', 'c'])).rejects.toMatchObject({ code: 'redis_unavailable' });
});

test('a plan that is left is named, with the way back', async () => {
  write({ 'edge.env': 'REDIS_URL=redis://a:b@h\n', 'redis.rotation.json': '{"passwords":{"a":"c"},"mechanism":null}' });
  await expect(changes().finishIn('redis', folder, null)).rejects.toMatchObject({
    code: 'rotation_unfinished',
    message: expect.stringContaining(join(folder, 'redis.rotation.json')),
  });
});

const state = (rotation: Partial<LocalRotation>): string =>
  JSON.stringify({ id: 'earlier', part: 'redis', state: 'done', says: '', isHalf: false, ...rotation });

test('a start that does not take what is asked for is asked no more: nothing is changed later', async () => {
  write({ 'ready.json': '{}', 'rotation.json': state({}) });
  const before = contents();
  await expect(changes().rotateHere('redis')).rejects.toMatchObject({ code: 'not_running' });
  expect(elapsedMs).toBeGreaterThanOrEqual(20_000);
  expect(contents()).toEqual(before);
});

test('what is taken in time is waited for', async () => {
  write({ 'ready.json': '{}' });
  meanwhile = () => {
    if (elapsedMs < 10_000) return;
    const path = requestPath(folder);
    if (elapsedMs < 30_000 && readdirSync(folder).includes('rotation.asked.json')) {
      const { id } = JSON.parse(readFileSync(path, 'utf8')) as { id: string };
      rmSync(path);
      writeFileSync(statePath(folder), state({ id, state: 'running', says: 'working', isHalf: true }));
    } else if (elapsedMs > 100_000)
      writeFileSync(statePath(folder), readFileSync(statePath(folder), 'utf8').replace('running', 'done'));
  };
  expect(await changes().rotateHere('redis')).toEqual([expect.stringContaining('the old ones are refused')]);
  expect(said).toEqual(['working']);
});

test.each([
  ['runs', { state: 'running' }],
  ['failed half way', { state: 'failed', isHalf: true }],
] as const)('nothing is asked for while what was asked for of another part %s', async (_name, rotation) => {
  write({ 'ready.json': '{}', 'rotation.json': state({ part: 'kafka', ...rotation }) });
  const before = contents();
  await expect(changes().rotateHere('redis')).rejects.toMatchObject({ code: 'rotation_unfinished' });
  expect(contents()).toEqual(before);
});

test('of two that ask at once one is refused, and a broken file is named', async () => {
  write({ 'ready.json': '{}', 'rotation.asked.json': '{"id":"other","part":"redis"}' });
  await expect(changes().rotateHere('redis')).rejects.toMatchObject({ code: 'rotation_unfinished' });
  write({ 'rotation.json': '{' });
  await expect(changes().rotateHere('redis')).rejects.toMatchObject({
    code: 'rotation_file_broken',
    message: expect.stringContaining(statePath(folder)),
  });
});
