import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { runCommand } from '#test/harness/command.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { edge } = service.ready;
const EFFECTIVE_MS = 2_000;

/** `npm run svc -- WORDS`, told only where the data folder is. */
const svc = (...words: string[]) => runCommand('services/cli/main.ts', words, { LOCAL_DIR: service.dataDir });

async function created(...words: string[]): Promise<Record<string, string>> {
  const { code, output } = await svc(...words, '--json');
  expect([code, output]).toEqual([0, expect.any(String)]);
  return JSON.parse(output);
}

const post = (key: string) => postEvents(edge, key, [newEvent()]);
const within = { timeoutMs: EFFECTIVE_MS };

test('a key that is created works at the edge within 2 s, and revoked works no more within 2 s', async () => {
  const name = `cli-${randomUUID().slice(0, 8)}`;
  await created('account', 'create', name, '--allowance', '1000');
  await created('site', 'create', name, '--account', name);
  const { secret = '' } = await created('key', 'create', '--site', name, '--caller', 'server');
  await until(
    'the new key',
    () => post(secret),
    ({ status }) => status === 200,
    within,
  );

  const listed = await svc('key', 'list', '--site', name);
  expect(listed.output).toContain(secret.slice(0, 11));
  expect(listed.output).not.toContain(secret);

  await created('key', 'revoke', secret);
  const refused = await until(
    'the revoked key',
    () => post(secret),
    ({ status }) => status === 403,
    within,
  );
  expect(refused.body).toMatchObject({ error: { code: 'key_revoked' } });
});

test('status says where everything is and that the edge answers', { timeout: 40_000 }, async () => {
  // Another test may just have a process begin anew, or have made events that are given up.
  const { output } = await until(
    'everything is able to work',
    () => svc('status', '--json'),
    ({ output }) => /"health": \{\s+"ok": true/.test(output) && !output.includes('"ready": false'),
    { timeoutMs: 30_000 },
  );
  expect(output).toMatch(/"findings": \[/);
  for (const address of [edge, service.ready.kafka, service.ready.registry]) expect(output).toContain(address);
});

test('what cannot be done is said in one line with exit status 2', async () => {
  const { code, output } = await svc('key', 'create', '--site', 'no-such-site', '--caller', 'server');
  expect(code).toBe(2);
  expect(output).toMatch(/^svc: \w+: .+\n$/);
});
