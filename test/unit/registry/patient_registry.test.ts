import { expect, test } from 'vitest';
import { createPatientRegistry } from '#infra/registry/patient_registry.ts';
import { type Registry, RegistryError } from '#infra/registry/schema_registry.ts';

function away(times: number, code: RegistryError['code']) {
  let asked = 0;
  const lines: unknown[] = [];
  const registry = {
    async idOf() {
      if (asked++ < times) throw new RegistryError(code, 'away', null);
      return 7;
    },
  } as unknown as Registry;
  const patient = createPatientRegistry(registry, { warn: (...line: unknown[]) => void lines.push(line) } as never, 0);
  return { ask: () => patient.idOf('site.config', 'setting'), lines };
}

test('a registry that does not answer is waited for', async () => {
  const { ask, lines } = away(3, 'registry_unavailable');
  expect(await ask()).toBe(7);
  expect(lines).toHaveLength(3);
});

test('a schema that is not registered is not waited for', async () => {
  const { ask } = away(1, 'schema_unregistered');
  await expect(ask()).rejects.toMatchObject({ code: 'schema_unregistered' });
});
