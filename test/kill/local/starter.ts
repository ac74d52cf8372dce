// Run by sudden_death.test.ts: starts all parts, prints the pids of them and of the reaper, and waits to be killed.
import { startParts } from '#services/local/parts/parts.ts';
import { ensureReaper } from '#services/local/parts/processes.ts';

const local = await startParts({
  dataDir: process.argv[2] ?? '',
  external: {},
  onProgress: () => undefined,
  onPartExit: () => undefined,
});
setInterval(() => undefined, 1_000);
console.log(JSON.stringify([...Object.values(local.parts).map((part) => part.pid), ensureReaper().pid]));
