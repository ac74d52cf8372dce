import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { joined } from '#services/edge/body.ts';

/** The chunks of a body of so many bytes, as Node hands them over. */
async function arrived(bytes: number): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  const server = createServer((incoming, answer) => {
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => answer.end());
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sending = request({ port, host: '127.0.0.1', method: 'POST' });
  sending.end(Buffer.alloc(bytes, 'a'));
  const [answer] = await once(sending, 'response');
  (answer as NodeJS.ReadableStream).resume();
  await once(answer as NodeJS.EventEmitter, 'end');
  return chunks;
}

test('a body of one chunk that Node made for it alone is not copied', async () => {
  const [chunk = Buffer.alloc(0), ...others] = await arrived(10_000);
  expect(others).toEqual([]);
  expect(joined([chunk], 10_000)).toBe(chunk);
});

test('what is a view of other memory, or several chunks, is', () => {
  const shared = Buffer.from('{"a":1} and what comes next');
  const view = shared.subarray(0, 7);
  const whole = joined([view], 7);
  shared.fill('x');
  expect(whole.toString()).toBe('{"a":1}');
  expect(joined([Buffer.from('{"a"'), Buffer.from(':1}')], 7).toString()).toBe('{"a":1}');
  expect(joined([], 0)).toHaveLength(0);
});
