import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cpuOf } from '../cpu.ts';

export interface BenchChild {
  pid: number;
  url: string;
  /** CPU seconds (user and system) the process has used. */
  cpuSeconds(): number;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

const START_MS_MAX = 60_000;

/** Starts a server as a process of its own; it says its port, or its url in the facts of its ready message. */
export async function startChild(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  nodeArgs: readonly string[] = [],
): Promise<BenchChild> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    env,
    execArgv: [...nodeArgs],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const url = await addressOf(child, file);
  const pid = child.pid as number;
  return {
    pid,
    url,
    cpuSeconds: () => cpuOf(pid),
    async stop() {
      const gone = new Promise<number | null>((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      return gone;
    },
  };
}

function addressOf(child: ChildProcess, file: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${file} did not start`)), START_MS_MAX);
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)));
    child.once('message', (message: { port?: number; facts?: { url?: string } }) => {
      clearTimeout(timer);
      resolve(message.facts?.url ?? `http://127.0.0.1:${message.port}`);
    });
  });
}
