import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { failed, NOTHING, type Tally } from './tally.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A suite that is a program of its own: its exit status says whether it held, and it counts as one test. */
export interface Command {
  name: string;
  words: readonly string[];
}

/** The suites that are programs, in the order in which `npm run test:all` runs them. */
export function commandsOf(): Command[] {
  return [
    { name: 'fault', words: ['test/fault/main.ts', '--seed', '1'] },
    { name: 'outside', words: ['test/outside/main.ts'] },
  ];
}

export function runCommand({ name, words }: Command): Tally {
  const { status } = spawnSync(process.execPath, words, { cwd: ROOT, stdio: 'inherit' });
  return status === 0 ? { ...NOTHING, passed: 1 } : failed([`suite ${name}: exit status ${status}`]);
}
