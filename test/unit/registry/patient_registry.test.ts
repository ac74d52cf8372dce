import { expect, test } from 'vitest';
import { createPatientRegistry, type Registry, RegistryError } from '#infra/registry/schema_registry.ts';

/** A registry that refuses with these codes, one after the other, and answers then. */
function refusing(...codes: (RegistryError['code'] | 'answers')[]) {
  const lines: unknown[] = [];
  const registry = {
    async idOf() {
      const code = codes.shift();
      if (code !== undefined && code !== 'answers') throw new RegistryError(code, 'away', null);
      return 7;
    },
  } as unknown as Registry;
  const patient = createPatientRegistry(registry, { warn: (...line: unknown[]) => void lines.push(line) } as never, 0);
  return { ask: () => patient.idOf('site.config', 'setting'), lines };
}

test('a registry that does not answer is waited for, with one line', async () => {
  const { ask, lines } = refusing('registry_unavailable', 'registry_unavailable', 'registry_unavailable');
  expect(await ask()).toBe(7);
  expect(lines).toHaveLength(1);
});

test('one that answers again and has yet to load its schemas is waited for too', async () => {
  const { ask } = refusing('registry_unavailable', 'schema_unregistered', 'schema_unregistered');
  expect(await ask()).toBe(7);
  // It knows the schema of one topic and not yet that of the next.
  const partly = refusing('registry_unavailable', 'answers', 'schema_unregistered');
  expect([await partly.ask(), await partly.ask()]).toEqual([7, 7]);
  const { ask: askForever } = refusing('registry_unavailable', ...new Array(61).fill('schema_unregistered'));
  await expect(askForever()).rejects.toMatchObject({ code: 'schema_unregistered' });
});

test('a schema that a registry lacks from the beginning is not waited for', async () => {
  const { ask } = refusing('schema_unregistered');
  await expect(ask()).rejects.toMatchObject({ code: 'schema_unregistered' });
});
