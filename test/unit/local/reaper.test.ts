import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { processStart } from '#services/local/parts/processes.ts';

const OWNER = fileURLToPath(new URL('./reaper_owner.ts', import.meta.url));

test('children end when their owner is killed, whether registered, deaf to SIGTERM, or only marked', async () => {
  const owner = spawn(process.execPath, [OWNER], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(owner.stdout, 'data')) as [Buffer];
  const pids: number[] = JSON.parse(line.toString());
  const starts = pids.map(processStart);
  expect(starts).not.toContain(undefined);
  owner.kill('SIGKILL');
  const alive = () => pids.filter((pid, index) => processStart(pid) === starts[index]);
  await expect.poll(alive).toEqual([]);
});
