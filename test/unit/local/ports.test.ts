import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { choosePorts } from '#services/local/parts/part.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ports-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

test('ports are the same at the next start', async () => {
  const first = await choosePorts(folder, ['a', 'b']);
  expect(first.a).not.toBe(first.b);
  expect(await choosePorts(folder, ['a', 'b'])).toEqual(first);
});

test('a port that is in use by now is replaced and the others stay', async () => {
  const first = await choosePorts(folder, ['a', 'b']);
  const squatter = await listen(first.a);
  const second = await choosePorts(folder, ['a', 'b']);
  squatter.close();
  expect(second.a).not.toBe(first.a);
  expect(second.b).toBe(first.b);
});

test('ports lie below those that outgoing connections take', async () => {
  const { a } = await choosePorts(folder, ['a']);
  expect(a).toBeGreaterThanOrEqual(20_000);
  expect(a).toBeLessThan(32_768);
});

function listen(port: number): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer().listen(port, '127.0.0.1', () => resolve(server));
  });
}
