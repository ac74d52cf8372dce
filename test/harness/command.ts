import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from './environment.ts';

export interface Ended {
  code: number | null;
  /** What it printed, errors included. */
  output: string;
}

export interface Command {
  child: ChildProcess;
  /** What it printed so far. */
  output: () => string;
  ended: Promise<Ended>;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Starts a module of the repository with only these settings in its environment. */
export function startCommand(file: string, words: readonly string[], settings: Record<string, string>): Command {
  const child = spawn(process.execPath, [ROOT + file, ...words], {
    env: childEnvironment(settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: string[] = [];
  const output = (): string => chunks.join('');
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => chunks.push(chunk));
  }
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, output: output() })));
  return { child, output, ended };
}

/** Runs a module of the repository to its end. */
export function runCommand(file: string, words: readonly string[], settings: Record<string, string>): Promise<Ended> {
  return startCommand(file, words, settings).ended;
}
