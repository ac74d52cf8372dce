import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSupervisor, type Supervisor } from '#services/local/start/supervisor.ts';
import { until } from '#test/harness/until.ts';

const FILE = fileURLToPath(new URL('./answering_child.ts', import.meta.url));
/** From the root of the repository, where tests run. */
const CHILD = { name: 'child', file: relative('.', FILE), env: () => ({}) };

let logDir: string;
let said: string[];
let supervisor: Supervisor;
let silences: Set<number | null | undefined>;

beforeEach(() => {
  logDir = mkdtempSync(join(tmpdir(), 'supervisor-'));
  said = [];
  silences = new Set();
});
afterEach(async () => {
  await supervisor.stop();
  rmSync(logDir, { recursive: true });
});

/** Starts a process that answers as it is told; returns how to read its pid. */
async function start(isAlive: () => boolean): Promise<() => number | undefined> {
  supervisor = createSupervisor({
    ...{ logDir, onSpawn: () => undefined, say: (line) => said.push(line), nowMs: () => 1_000 },
    isAlive: async () => isAlive(),
    onChange: () => silences.add(supervisor.states()[0]?.silentSinceMs),
    askEveryMs: 1,
  });
  await supervisor.start([CHILD]);
  return () => supervisor.states()[0]?.pid;
}

test('a process that does not answer again and again is killed and started again', async () => {
  let lives = false;
  const pid = await start(() => lives);
  const first = pid();
  await until('another process', () => said.some((line) => line.startsWith('child died (SIGKILL)')));
  lives = true;
  await until('it to be ready', () => supervisor.states()[0]?.ready === true);
  expect(pid()).not.toBe(first);
  expect(said[0]).toBe('child hangs: no answer 6 times in a row; ending it');
  expect([...silences]).toEqual([null, 1_000]);
  expect(supervisor.states()[0]).toMatchObject({ restarts: 1, diedMs: [1_000], silentSinceMs: null });
});

test('one that answers now and then lives', async () => {
  let asked = 0;
  const pid = await start(() => asked++ % 6 === 5);
  const first = pid();
  await until('it to be asked often', () => asked > 30);
  expect(pid()).toBe(first);
  expect(said).toEqual([]);
});
