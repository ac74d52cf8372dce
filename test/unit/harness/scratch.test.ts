import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ensureReaper } from '#infra/local/reaper.ts';
import { childEnvironment } from '#test/harness/environment.ts';
import { isAlive, mark } from '#test/harness/processes.ts';
import { makeScratch } from '#test/harness/run/scratch.ts';
import { until } from '#test/harness/until.ts';

const SLEEP = ['sleep', ['60']] as const;

test('clearing ends what the run started, by its environment or its working directory, and nothing else', async () => {
  const parent = tmpdir();
  const stranger = spawn(...SLEEP, { env: childEnvironment(), cwd: '/', stdio: 'ignore' });
  const scratch = await makeScratch();
  expect(tmpdir()).toBe(scratch.path);
  const reaper = ensureReaper();
  const data = join(scratch.path, 'data');
  mkdirSync(data);
  const children = [
    spawn(...SLEEP, { env: childEnvironment(), cwd: '/', stdio: 'ignore', detached: true }),
    spawn(...SLEEP, { env: { PATH: '/usr/bin:/bin' }, cwd: data, stdio: 'ignore', detached: true }),
  ];
  const marks = children.flatMap(({ pid }) => mark(pid ?? -1));
  expect(marks).toHaveLength(children.length);

  await scratch.clear();
  await until(
    'ended',
    () => marks.filter(isAlive),
    (left) => left.length === 0,
  );
  expect(existsSync(scratch.path)).toBe(false);
  expect(existsSync(parent)).toBe(true);
  expect(mark(stranger.pid ?? -1)).toHaveLength(1);
  expect(ensureReaper()).toBe(reaper);
  stranger.kill('SIGKILL');
});
