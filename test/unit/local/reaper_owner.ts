// Run by reaper.test.ts: starts children in each of the ways a child can be, prints their pids, and waits to be killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { ensureReaper, registerChild } from '#services/local/parts/processes.ts';
import { ownerEnvironment } from '#services/local/parts/tools.ts';

/** One bit for each signal, the first for number 1. */
const SIGNALS = [1, 2, 15].reduce((mask, signal) => mask | (1 << (signal - 1)), 0);

const reaper = ensureReaper();
const obedient = start('exec sleep 100', {});
const deaf = start("trap '' TERM; while :; do sleep 100; done", {});
const marked = start('exec sleep 100', ownerEnvironment());
registerChild(obedient, 'service');
registerChild(deaf, 'part');
// The terminal's signals reach the reaper too and must not end it, which its shell says as it begins.
while (!ignoresSignals(pidOf(reaper))) await turn();
for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) process.kill(pidOf(reaper), signal);
console.log(JSON.stringify([obedient, deaf, marked]));
// oxlint-disable-next-line no-restricted-globals -- where the test does not end it, it ends by itself
setTimeout(() => process.exit(), 60_000);

/** Whether a process ignores SIGHUP, SIGINT and SIGTERM. */
function ignoresSignals(pid: number): boolean {
  const [, mask = '0'] = /^SigIgn:\s*(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (Number.parseInt(mask, 16) & SIGNALS) === SIGNALS;
}

function start(script: string, env: Record<string, string>): number {
  const child = spawn('sh', ['-c', script], {
    detached: true,
    env: { PATH: '/usr/bin:/bin', ...env },
    stdio: 'ignore',
  });
  return pidOf(child);
}

/** Signals to process 0 go to whoever sends them, and to all that run with it. */
function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('the child was not started');
  return pid;
}
