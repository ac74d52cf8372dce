import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { until } from '#test/harness/until.ts';

/** A process under test that says on its standard output, line by line, where it is. */
export interface Child {
  /** Resolves once the line was said. */
  said(line: string): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** Exit code or signal. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** Starts a module with one JSON argument. It is killed when the test ends. */
export function startChild(module: URL, argument: object): Child {
  const child: ChildProcess = spawn(process.execPath, [fileURLToPath(module), JSON.stringify(argument)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = new Set<string>();
  if (child.stdout !== null) createInterface({ input: child.stdout }).on('line', (line) => lines.add(line));
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals | null);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    async said(line) {
      await until(`child says ${line}`, () => lines.has(line));
    },
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

/**
 * Starts a module again whenever it dies, `startsMax` times at the most, until what it is to do is over. Answers how often
 * it died.
 */
export async function deathsUntil(
  module: URL,
  argument: object,
  isOver: () => Promise<boolean>,
  startsMax: number,
): Promise<number> {
  let deaths = 0;
  for (let start = 0; start < startsMax; start++) {
    const died = startChild(module, argument).ended.then(() => true);
    const done = until('all to be done', isOver).then(() => false);
    if (!(await Promise.race([died, done]))) break;
    done.catch(() => undefined);
    deaths++;
  }
  return deaths;
}
