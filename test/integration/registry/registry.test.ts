import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, inject, test } from 'vitest';
import { createRegistry, subjectOf } from '#infra/registry/schema_registry.ts';
import { schemaText } from '#schemas/schemas.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import type {} from '#test/harness/shared_parts.ts';

const url = (): string => inject('parts').addresses.registryUrl;
const HEADERS = { 'content-type': 'application/vnd.schemaregistry.v1+json' };

async function ask(path: string, method = 'GET', body?: object): Promise<unknown> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  return (await fetch(`${url()}${path}`, { method, headers: HEADERS, ...sent })).json();
}

/** Registers a schema that the registry has not seen, under a subject of its own; the answer is its id. */
async function registerAny(name: string): Promise<number> {
  const schema = JSON.stringify({ type: 'record', name, fields: [] });
  const { id } = (await ask(`/subjects/${subjectOf(uniqueName('topic'))}/versions`, 'POST', { schema })) as {
    id: number;
  };
  return id;
}

test('a schema is registered once, under BACKWARD_TRANSITIVE', async () => {
  const topic = uniqueName('topic');
  const registry = createRegistry(url());
  const id = await registry.register(topic, 'quota_usage');
  expect(await ask(`/config/${subjectOf(topic)}`)).toEqual({ compatibilityLevel: 'BACKWARD_TRANSITIVE' });
  expect(await createRegistry(url()).register(topic, 'quota_usage')).toBe(id);
  expect(await createRegistry(url()).idOf(topic, 'quota_usage')).toBe(id);
  expect(await ask(`/subjects/${subjectOf(topic)}/versions`)).toEqual([1]);
});

test('a subject that was left without a compatibility gets ours', async () => {
  const topic = uniqueName('topic');
  const schema = schemaText('quota_usage');
  await ask(`/subjects/${subjectOf(topic)}/versions`, 'POST', { schema });
  await createRegistry(url()).register(topic, 'quota_usage');
  expect(await ask(`/config/${subjectOf(topic)}`)).toEqual({ compatibilityLevel: 'BACKWARD_TRANSITIVE' });
});

test('a compatibility that somebody chose is left alone and told', async () => {
  const topic = uniqueName('topic');
  await ask(`/config/${subjectOf(topic)}`, 'PUT', { compatibility: 'FULL' });
  const registering = createRegistry(url()).register(topic, 'quota_usage');
  await expect(registering).rejects.toMatchObject({ code: 'compatibility_mismatch', recovery: 'stop' });
  expect(await ask(`/config/${subjectOf(topic)}`)).toEqual({ compatibilityLevel: 'FULL' });
});

test('a schema that cannot read what stands in the topic is refused', async () => {
  const topic = uniqueName('topic');
  await ask(`/subjects/${subjectOf(topic)}/versions`, 'POST', { schema: '{"type":"string"}' });
  await ask(`/config/${subjectOf(topic)}`, 'PUT', { compatibility: 'BACKWARD_TRANSITIVE' });
  const registering = createRegistry(url()).register(topic, 'quota_usage');
  await expect(registering).rejects.toMatchObject({ code: 'schema_incompatible', recovery: 'stop' });
});

test('asking for a schema before provisioning says so', async () => {
  const registry = createRegistry(url());
  const asking = registry.idOf(uniqueName('topic'), 'quota_usage');
  await expect(asking).rejects.toMatchObject({ code: 'schema_unregistered', recovery: 'stop' });
  await expect(registry.typeOf(987_654)).rejects.toMatchObject({ code: 'schema_awaited', recovery: 'wait' });
});

test('an id that stays unknown is not waited for any more, and known soon after a schema is registered under it', async () => {
  let nowMs = 0;
  const registry = createRegistry(url(), { nowMs: () => nowMs });
  const next = (await registerAny('Last')) + 1;
  await expect(registry.typeOf(next)).rejects.toMatchObject({ code: 'schema_awaited' });
  nowMs += 20_000;
  expect(await registry.typeOf(next)).toBe(null);
  expect(await registerAny('Next')).toBe(next);
  expect(await registry.typeOf(next)).toBe(null);
  nowMs += 10_000;
  expect(await registry.typeOf(next)).not.toBe(null);
});

test('a registry that is not there is asked again later', async () => {
  const asking = createRegistry('http://127.0.0.1:1').idOf('topic', 'quota_usage');
  await expect(asking).rejects.toMatchObject({ code: 'registry_unavailable', recovery: 'wait' });
  const fetching = createRegistry('http://127.0.0.1:1').typeOf(1);
  await expect(fetching).rejects.toMatchObject({ code: 'registry_unavailable', recovery: 'wait' });
});

test('a registry that takes requests and never answers is unavailable in time', async () => {
  const hung = createServer((request, response) => {
    // Apicurio was seen to hang in a registration while it answered everything else.
    if (request.method === 'GET' && request.url?.startsWith('/config/'))
      response.end('{"compatibilityLevel":"BACKWARD_TRANSITIVE"}');
  });
  await new Promise<void>((listening) => hung.listen(0, '127.0.0.1', listening));
  const address = `http://127.0.0.1:${(hung.address() as AddressInfo).port}`;
  const registry = createRegistry(address, { nowMs: Date.now, timeoutMs: 50 });
  const unavailable = { code: 'registry_unavailable', recovery: 'wait' };
  await expect(registry.register('any', 'quota_usage')).rejects.toMatchObject(unavailable);
  await expect(registry.idOf('any', 'quota_usage')).rejects.toMatchObject(unavailable);
  await expect(registry.typeOf(1)).rejects.toMatchObject(unavailable);
  hung.closeAllConnections();
  hung.close();
});
