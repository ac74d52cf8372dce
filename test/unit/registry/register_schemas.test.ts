import { expect, test } from 'vitest';
import { RegistryError, registerSchemas } from '#infra/registry/schema_registry.ts';

const TOPICS = [
  { name: 'a', schema: 'accepted_event' },
  { name: 'b', schema: 'accepted_event' },
] as never;

/** A registry that fails so often before it takes a schema, and a clock that only waiting moves. */
function world(failures: number, code: RegistryError['code'] = 'registry_unavailable') {
  const asked: string[] = [];
  let ms = 0;
  const registry = {
    async register(topic: string) {
      asked.push(topic);
      if (asked.filter((one) => one === topic).length <= failures) throw new RegistryError(code, 'away', null);
      return 1;
    },
  };
  const waiting = {
    nowMs: () => ms,
    async pause(given: number) {
      ms += given;
    },
  };
  return { asked, done: () => registerSchemas(registry, TOPICS, waiting), waitedMs: () => ms };
}

test('each schema is registered once where the registry answers', async () => {
  const { asked, done } = world(0);
  await done();
  expect(asked.toSorted()).toEqual(['a', 'b']);
});

test('a registry that does not answer yet is asked again', async () => {
  const { asked, done } = world(3);
  await done();
  expect(asked.toSorted()).toEqual(['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b']);
});

test('after a minute it is given up, and at once where waiting changes nothing', async () => {
  const away = world(1_000);
  await expect(away.done()).rejects.toMatchObject({ code: 'registry_unavailable' });
  expect(away.waitedMs()).toBeGreaterThanOrEqual(60_000);
  expect(away.waitedMs()).toBeLessThan(62_000);
  const refusing = world(1, 'schema_incompatible');
  await expect(refusing.done()).rejects.toMatchObject({ code: 'schema_incompatible' });
  expect(refusing.waitedMs()).toBe(0);
});
