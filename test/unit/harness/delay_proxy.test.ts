import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { connect } from 'node:tls';
import { test } from 'vitest';
import { startDelayProxy } from '#test/browser/harness/delay_proxy.ts';

// Where it does not, the test does not end.
test('a delaying proxy closes though a client went on sending after the server had closed', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end('enough'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy = await startDelayProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 10);
  const client = connect({ port: proxy.port, host: '127.0.0.1', rejectUnauthorized: false });
  client.on('error', () => undefined).resume();
  await new Promise((resolve) => client.once('secureConnect', resolve));
  while (client.writable) {
    client.write('more');
    await turn();
  }
  await proxy.close();
  await new Promise((resolve) => server.close(resolve));
});
