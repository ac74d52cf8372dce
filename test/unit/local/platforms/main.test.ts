import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('../../../../services/local/platforms/main.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'standin-'));
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

interface Started extends Record<string, unknown> {
  child: ChildProcess;
  meta: string;
  webhook: string;
}

async function start(names: readonly string[] = ['meta', 'webhook']): Promise<Started> {
  const args = [...names.flatMap((name) => [`--${name}-port`, '0']), '--state-dir', folder];
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [line] = (await once(child.stdout ?? expect.fail('no output'), 'data')) as [Buffer];
  return { child, ...(JSON.parse(line.toString()) as { meta: string; webhook: string }) };
}

const post = (url: string): Promise<Response> =>
  fetch(`${url}/shop`, {
    method: 'POST',
    headers: {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
      'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}`,
    },
    body: JSON.stringify({ type: 'event', data: { event_id: 'e1', event: 'purchase' } }),
  });

it('serves the platforms it is given a port for, and only those', async () => {
  const { child, ...others } = await start(['webhook']);
  expect(Object.keys(others).sort()).toEqual(['ready', 'webhook']);
  expect((await fetch(`${others.webhook}/_standin/totals`)).status).toBe(200);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

it.each([[[]], [['--meta-port', 'x']], [['--nobody-port', '0']]])('refuses the words %j', async (words) => {
  const child = spawn(process.execPath, [MAIN, ...words], { stdio: 'ignore' });
  children.push(child);
  expect(await once(child, 'exit')).toEqual([2, null]);
});

it('serves both platforms, and after kill -9 goes on counting', async () => {
  const first = await start();
  expect((await post(first.webhook)).status).toBe(204);
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  const second = await start();
  expect((await post(second.webhook)).status).toBe(204);
  expect(await (await fetch(`${second.webhook}/_standin/ledger`)).json()).toMatchObject({
    first: 1,
    repeated: 1,
    events: [{ event_id: 'e1', event_name: 'purchase', scope: '/shop', times: 2 }],
  });
  expect((await fetch(`${second.meta}/_standin/totals`)).status).toBe(200);
  second.child.kill('SIGTERM');
  expect(await once(second.child, 'exit')).toEqual([0, null]);
});
