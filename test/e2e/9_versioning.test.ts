import { expect, test } from 'vitest';
import { sharedService } from '#test/harness/shared_service.ts';

const { edge } = sharedService().ready;
const ROUTES = [
  ['POST', 'ingest', 401],
  ['POST', 'inventory', 401],
  ['GET', 'config', 401],
  ['GET', 'health', 200],
  ['GET', 'tls-check?domain=x.example', 404],
] as const;

const ask = async (method: string, path: string) => (await fetch(`${edge}${path}`, { method })).json();

test.for(ROUTES)('%s %s is there under /v1/ and under no other prefix', async ([method, route, status]) => {
  const response = await fetch(`${edge}/v1/${route}`, { method });
  expect(response.status).toBe(status);
  expect(JSON.stringify(await response.json())).not.toContain('not_found');
  for (const prefix of ['/', '/v2/', '/V1/']) {
    expect([prefix, await ask(method, `${prefix}${route}`)]).toMatchObject([prefix, { error: { code: 'not_found' } }]);
  }
});
