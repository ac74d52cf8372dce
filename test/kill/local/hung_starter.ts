// Run by hung_start.test.ts: starts a part that never gets ready, with nothing else that would keep this process alive.
import { join } from 'node:path';
import { LocalPart } from '#services/local/parts/part.ts';

const folder = process.argv[2] ?? '';
const part = new LocalPart(
  {
    name: 'registry',
    address: '',
    logPath: join(folder, 'hung.log'),
    command: process.execPath,
    args: ['-e', 'setInterval(() => {}, 1000)'],
    cwd: folder,
    isReady: async () => false,
    readyTimeoutMs: 300,
  },
  () => undefined,
);
part.start().catch((error: Error) => {
  console.log(error.message);
  process.exitCode = 1;
});
