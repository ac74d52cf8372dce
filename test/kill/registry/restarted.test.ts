import { expect, test } from 'vitest';
import { createRegistry, type Registry, subjectOf } from '#infra/registry/schema_registry.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import { useOwnParts } from '#test/harness/own_parts.ts';
import { until } from '#test/harness/until.ts';

const parts = useOwnParts('kafka', 'registry');
const url = (): string => parts().addresses.registryUrl;

/** Registers a schema that the clients have not seen, under a subject of its own; the answer is its id. */
async function registerAny(name: string): Promise<number> {
  const response = await fetch(`${url()}/subjects/${subjectOf(uniqueName('topic'))}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema: JSON.stringify({ type: 'record', name, fields: [] }) }),
  });
  return ((await response.json()) as { id: number }).id;
}

test('no id is unknown to a registry that is only just loading what it has', { timeout: 120_000 }, async () => {
  const topic = uniqueName('topic');
  await createRegistry(url()).register(topic, 'quota_usage');
  const foreign = await registerAny('Foreign');
  async function knowing(): Promise<Registry> {
    const registry = createRegistry(url());
    await registry.idOf(topic, 'quota_usage');
    return registry;
  }
  const registries = await Promise.all(Array.from({ length: 100 }, knowing));
  const part = parts().parts.registry;
  part?.kill('SIGKILL');
  await until('the registry to be gone', () => part?.pid === undefined);
  const starting = part?.start();
  const answers: string[] = [];
  for (const registry of registries) {
    const asked = registry.typeOf(foreign).then((type) => (type === null ? 'unknown' : 'known'));
    answers.push(await asked.catch((error: unknown) => String(Reflect.get(Object(error), 'code'))));
    if (answers.at(-1) === 'known') break;
  }
  await starting;
  expect(answers).not.toContain('unknown');
  expect(answers.at(-1)).toBe('known');
});
