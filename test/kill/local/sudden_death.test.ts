import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processStart } from '#services/local/parts/processes.ts';

const STARTER = fileURLToPath(new URL('./starter.ts', import.meta.url));
const START_MS = 240_000;
const GONE_MS = 15_000;

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'local-death-'));
});

afterEach(() => rmSync(dataDir, { recursive: true, maxRetries: 5 }));

test(
  'kill -9 of the process that started the parts leaves none behind',
  async () => {
    const starter = spawn(process.execPath, [STARTER, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pids = await pidsOf(starter);
    const starts = pids.map(processStart);
    expect(starts).not.toContain(undefined);
    starter.kill('SIGKILL');
    const alive = () => pids.filter((pid, index) => processStart(pid) === starts[index]);
    await expect.poll(alive, { timeout: GONE_MS }).toEqual([]);
  },
  START_MS,
);

async function pidsOf(starter: ChildProcess): Promise<number[]> {
  if (starter.stdout === null) throw new Error('the starter has no output');
  const [line] = (await once(createInterface(starter.stdout), 'line')) as [string];
  return JSON.parse(line);
}
