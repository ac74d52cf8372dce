import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LocalPart, type PartPlan } from '#services/local/parts/part.ts';

/** The first start hangs, each further one is ready at once. */
const HANGS_ONCE = `
  const fs = require('node:fs');
  fs.existsSync('begun') ? fs.writeFileSync('ready', '') : fs.writeFileSync('begun', '');
  setInterval(() => {}, 1000);
`;
let folder: string;
let part: LocalPart;
let exits: string[];
let progress: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hung-'));
  exits = [];
  progress = [];
});
afterEach(async () => {
  await part.stop();
  rmSync(folder, { recursive: true });
});

function hanging(options: Partial<PartPlan>): LocalPart {
  const plan: PartPlan = {
    name: 'registry',
    address: '',
    logPath: join(folder, 'part.log'),
    command: process.execPath,
    args: ['-e', HANGS_ONCE],
    cwd: folder,
    isReady: async () => existsSync(join(folder, 'ready')),
    readyTimeoutMs: 1_500,
    ...options,
  };
  return new LocalPart(
    plan,
    (name) => exits.push(name),
    (line) => progress.push(line),
  );
}

test('a start that hangs is given up and begun again', async () => {
  part = hanging({ startsMax: 2 });
  await part.start();
  expect(part.pid).toBeGreaterThan(0);
  expect(exits).toEqual([]);
});

test('a start whose readiness is asked for without an answer is given up in time', async () => {
  part = hanging({ startsMax: 1, isReady: () => new Promise(() => undefined) });
  await expect(part.start()).rejects.toThrow('not ready after 1.5 s');
});

test('a part that hangs is begun again unless its plan says otherwise, and says so', async () => {
  part = hanging({});
  await part.start();
  expect(progress).toEqual(['registry: not ready after 1.5 s; starting it again (2 of 2)']);
});

test('a start that is slow rather than hung has longer the third time', async () => {
  const slow = `setTimeout(() => require('node:fs').writeFileSync('ready', ''), 5_000); setInterval(() => {}, 1000)`;
  part = hanging({ args: ['-e', slow], readyTimeoutMs: 4_500, startsMax: 5 });
  await part.start();
  expect(progress.slice(0, 2)).toEqual(
    [2, 3].map((start) => `registry: not ready after 4.5 s; starting it again (${start} of 5)`),
  );
});

test('a process with nothing else to wait for waits until the start has failed', async () => {
  part = hanging({});
  const starter = fileURLToPath(new URL('./hung_starter.ts', import.meta.url));
  const run = spawn(process.execPath, [starter, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said, code] = await Promise.all([text(run.stdout), once(run, 'exit').then(([status]) => status)]);
  expect(said).toContain('registry did not start: not ready after 0.3 s (2 starts)');
  expect(code).toBe(1);
});

test('the temporary folder of a part is empty at its start and gone after its end', async () => {
  const temporaryFolder = join(folder, 'temporary');
  mkdirSync(temporaryFolder);
  writeFileSync(join(temporaryFolder, 'left'), '');
  part = hanging({ args: ['-e', `${HANGS_ONCE} fs.writeFileSync('temporary/one', '')`], temporaryFolder });
  await part.start();
  expect(readdirSync(temporaryFolder)).toEqual(['one']);
  await part.stop();
  expect(existsSync(temporaryFolder)).toBe(false);
});

test('a start that hangs too often has failed, and leaves nothing running', async () => {
  part = hanging({ startsMax: 1 });
  await expect(part.start()).rejects.toMatchObject({ code: 'local_part_failed' });
  expect(part.pid).toBeUndefined();
});
