import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createRegistry, type Registry } from '#infra/registry/schema_registry.ts';

const SECOND_MS = 1_000;

/** A registry that knows no schema until it is told, as a copy that is behind. */
async function behind(): Promise<{ registry: Registry; clock: { nowMs: number }; learn(): void; asked(): number }> {
  let known = false;
  let asked = 0;
  const server = createServer((_request, response) => {
    asked++;
    response.setHeader('content-type', 'application/json');
    response.statusCode = known ? 200 : 404;
    response.end(JSON.stringify(known ? { schema: '"string"' } : { error_code: 40_403, message: 'Schema not found' }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const clock = { nowMs: 0 };
  const { port } = server.address() as AddressInfo;
  const registry = createRegistry(`http://127.0.0.1:${port}`, { nowMs: () => clock.nowMs });
  return {
    registry,
    clock,
    learn() {
      known = true;
    },
    asked: () => asked,
  };
}

const AWAITED = { code: 'schema_awaited', recovery: 'wait' };

test('a schema that the registry does not know yet is waited for', async () => {
  const { registry, clock, learn } = await behind();
  await expect(registry.typeOf(7)).rejects.toMatchObject(AWAITED);
  clock.nowMs += 10 * SECOND_MS;
  await expect(registry.typeOf(7)).rejects.toMatchObject(AWAITED);
  learn();
  expect(await registry.typeOf(7)).not.toBeNull();
});

test('one that it never learns is unknown after a while, and not asked for with every record', async () => {
  const { registry, clock, asked } = await behind();
  await expect(registry.typeOf(7)).rejects.toMatchObject(AWAITED);
  clock.nowMs += 20 * SECOND_MS;
  expect(await registry.typeOf(7)).toBeNull();
  const before = asked();
  expect(await registry.typeOf(7)).toBeNull();
  expect(asked()).toBe(before);
});

test('after one was waited for in vain others are not, for some minutes', async () => {
  const { registry, clock } = await behind();
  for (const id of [7, 8]) await expect(registry.typeOf(id)).rejects.toMatchObject(AWAITED);
  clock.nowMs += 20 * SECOND_MS;
  expect(await registry.typeOf(7)).toBeNull();
  for (const id of [8, 9, 10]) expect(await registry.typeOf(id)).toBeNull();
  clock.nowMs += 300 * SECOND_MS;
  await expect(registry.typeOf(11)).rejects.toMatchObject(AWAITED);
});
