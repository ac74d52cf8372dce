// Run by reaper.test.ts: starts children in each of the ways a child can be, prints their pids, and waits to be killed.
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownerEnvironment } from '#infra/local/environment.ts';
import { ensureReaper, registerChild } from '#infra/local/reaper.ts';

const reaper = ensureReaper();
const obedient = start('exec sleep 100', {});
const deaf = start("trap '' TERM; while :; do sleep 100; done", {});
const marked = start('exec sleep 100', ownerEnvironment());
registerChild(obedient, 'service');
registerChild(deaf, 'part');
await sleep(300);
// The terminal's signals reach the reaper too and must not end it.
process.kill(reaper.pid ?? 0, 'SIGINT');
process.kill(reaper.pid ?? 0, 'SIGHUP');
process.kill(reaper.pid ?? 0, 'SIGTERM');
console.log(JSON.stringify([obedient, deaf, marked]));
await sleep(60_000);

function start(script: string, env: Record<string, string>): number {
  const child = spawn('sh', ['-c', script], {
    detached: true,
    env: { PATH: '/usr/bin:/bin', ...env },
    stdio: 'ignore',
  });
  return child.pid ?? 0;
}
