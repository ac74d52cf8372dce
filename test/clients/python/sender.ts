import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { childEnvironment } from '#test/harness/environment.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const PACKAGE = `${ROOT}clients/python`;
export const SENDER = `${ROOT}test/clients/python/sender.py`;

/** What `sender.py` is to do. */
export interface SenderWork {
  url: string;
  key: string;
  /** Numbers of the events: from the first on, without the last. */
  first: number;
  last: number;
  /** Of a thousand events one is older than the service takes, and one is a robot's. */
  odd?: boolean;
  journal?: string;
  /** How far its clock is ahead, in seconds. */
  clock_off?: number;
}

/** So many events it is ahead of its reader, at most, who else would kill it long after the line. */
const HEARD_EVERY = 20;

/** What it said. */
export interface SenderRun {
  /** The last event that it began to track. */
  tried: number;
  /** The ids of what it tracked, by their numbers. */
  ids: Map<number, string>;
  /** Numbers of events that the callbacks were told of, by the word and its code. */
  told: Map<string, number[]>;
  /** Codes of failed requests, each with whether it is tried again. */
  errors: string[];
  isDone: boolean;
}

/** Runs the sender until it ends, or kills it once it has said so many lines. */
export async function runSender(work: SenderWork, linesMax = Number.POSITIVE_INFINITY): Promise<SenderRun> {
  const env = childEnvironment({ PYTHONPATH: `${PACKAGE}/src`, PYTHONDONTWRITEBYTECODE: '1' });
  const child = spawn('python3', [SENDER, JSON.stringify({ ...work, heard_every: HEARD_EVERY })], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // It may have been killed before it is told that it was heard.
  child.stdin.on('error', () => undefined);
  onTestFinished(() => void child.kill('SIGKILL'));
  const closed = once(child, 'close');
  const run: SenderRun = { tried: -1, ids: new Map(), told: new Map(), errors: [], isDone: false };
  let lines = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [word = '', first = '', second = ''] = line.split(' ');
    if (word === 'try') run.tried = Number(first);
    else if (word === 'tracked') {
      run.ids.set(Number(first), second);
      if (Number(first) % HEARD_EVERY === 0) child.stdin.write('\n');
    } else if (word === 'error') run.errors.push(`${first} ${second}`);
    else if (word === 'end') run.isDone = first === 'True';
    else run.told.set(word, [...(run.told.get(word) ?? []), Number(first)]);
    lines += 1;
    if (lines >= linesMax) child.kill('SIGKILL');
  }
  await closed;
  return run;
}
