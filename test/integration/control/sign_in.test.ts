import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { AuditPage } from '#services/control_api/audit.ts';
import { createControlClient, httpTransport } from '#services/control_api/client.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { until } from '#test/harness/until.ts';

const { ready } = sharedService();
const password = readFileSync(ready.dashboard.passwordFile, 'utf8').trim();
const origin = new URL(ready.control).origin;
const own = { origin, 'x-svc-csrf': '1', 'content-type': 'application/json' };

function ask(method: string, headers: Record<string, string>, body: object | null = null): Promise<Response> {
  return fetch(`${ready.control}/v1/session`, { method, headers, body: body === null ? null : JSON.stringify(body) });
}

it('the first user of npm start signs in with the password of its file, and out again', async () => {
  const answer = await ask('POST', own, { user_id: ready.dashboard.user, password });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ kind: 'user', id: 'admin', grants: [{ role: 'owner' }] });
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect((await ask('GET', { cookie })).status).toBe(200);
  expect((await ask('DELETE', { cookie })).status).toBe(403);
  expect((await ask('DELETE', { ...own, cookie }, {})).status).toBe(200);
  expect((await ask('GET', { cookie })).status).toBe(401);
});

it('a refusal stands in the audit, and neither the password nor its hash stands there', async () => {
  const wrong = 'a wrong guess at it';
  expect((await ask('POST', own, { user_id: ready.dashboard.user, password: wrong })).status).toBe(401);
  const client = createControlClient(httpTransport(ready.control), readFileSync(ready.adminTokenFile, 'utf8').trim());
  const page = await until(
    'the entry is written',
    () => client.get<AuditPage>('/audit?setting_key=user/admin&limit=1000'),
    ({ items }) => items.some(({ after }) => after?.['done'] === 'user.sign_in_refused'),
  );
  const text = JSON.stringify(page);
  expect(text).not.toContain(wrong);
  expect(text).not.toContain(password);
  expect(text).not.toContain('$scrypt');
  expect(page.items.at(-1)).toMatchObject({
    action: 'create',
    changed_by: 'configuration',
    secrets_changed: ['password'],
  });
});
