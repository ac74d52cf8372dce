import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { processStart } from '#services/local/parts/processes.ts';

const WATCHER = fileURLToPath(new URL('./parent_watcher.ts', import.meta.url));

test('a process learns that its parent was killed', async () => {
  const parent = spawn('sh', ['-c', `"${process.execPath}" "${WATCHER}"; true`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const watcher = Number(line.toString());
  expect(processStart(watcher)).toBeDefined();
  parent.kill('SIGKILL');
  await expect.poll(() => processStart(watcher)).toBeUndefined();
});
