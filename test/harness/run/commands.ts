import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { add, type BatchCounts, failed, NOTHING, readSummary } from './tally.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Rows that lose, move or share something by which clusters differ from single parts. */
const ON_CLUSTER = 'kafka.,redis,clickhouse.shard_away,zombie.,killed_at_random,partitions.added';

/** The suites that are programs of their own, each by what is run one after the other. */
export const COMMANDS = {
  fault: [
    ['test/fault/main.ts', '--seed', '1'],
    ['test/fault/main.ts', '--seed', '1', '--cluster', '--only', ON_CLUSTER],
    ['test/fault/main.ts', '--seed', '1', '--broken'],
  ],
  outside: [['test/outside/main.ts'], ['test/outside/deploy.ts']],
} as const;

export type CommandName = keyof typeof COMMANDS;

/** Runs the programs of a suite and counts what their last lines say: each ends as `summary` does. */
export async function runCommand(name: CommandName): Promise<BatchCounts> {
  let tally = NOTHING;
  for (const words of COMMANDS[name]) tally = add(tally, await runProgram(words));
  return tally;
}

async function runProgram(words: readonly string[]): Promise<BatchCounts> {
  const child = spawn(process.execPath, words, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    console.log(line);
    lines.push(line);
  });
  const [status] = (await once(child, 'close')) as [number | null];
  const tally = readSummary(lines);
  if (tally !== undefined && (status === 0) === (tally.failed === 0 && tally.passed > 0)) return tally;
  return add(tally ?? NOTHING, failed([`${words.join(' ')}: exit status ${status}`]));
}
