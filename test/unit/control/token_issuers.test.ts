import { expect, test } from 'vitest';
import { auditedRecords } from '#pipelines/settings/journal.ts';
import { type Control, control, NOW_MS, PASSWORD } from './harness.ts';

const OWN = { host: 'localhost:8090', origin: 'http://localhost:8090', 'x-svc-csrf': '1' };

async function signedIn(world: Control): Promise<Record<string, string>> {
  const body = { user_id: 'ada', password: PASSWORD };
  const answer = await world.call('POST', '/v1/session', { token: null, body, headers: OWN });
  return { ...OWN, cookie: String(answer.headers['set-cookie']).split(';')[0] ?? '' };
}

/** By their labels, the user who issued each token. */
async function issuers(world: Control): Promise<Record<string, string | null>> {
  const { items } = (await world.call('GET', 'tokens')).body as {
    items: { label: string; issued_by: string | null }[];
  };
  return Object.fromEntries(items.map(({ label, issued_by }) => [label, issued_by]));
}

test('a token names the user who issued it, also by another token, whatever becomes of those', async () => {
  const world = await control();
  await world.addUser();
  await world.addUser({ user_id: 'eve' });
  const headers = await signedIn(world);
  const issue = async (
    label: string,
    token: string | null,
  ): Promise<{ secret: string; token: { token_hash: string } }> =>
    (await world.call('POST', 'tokens', { token, body: { label }, ...(token === null ? { headers } : {}) })).body;
  const first = await issue('by hand', null);
  const second = await issue('by the first', first.secret);
  await issue('by the second', second.secret);
  await world.call('POST', `tokens/${first.token.token_hash}/revoke`);
  await world.call('POST', 'tokens', { body: { label: 'by nobody' } });
  await world.call('PATCH', 'users/ada', { body: { disabled: true } });
  expect(await issuers(world)).toMatchObject({
    'by hand': 'ada',
    'by the first': 'ada',
    'by the second': 'ada',
    'by nobody': null,
  });
  expect((await world.call('GET', `tokens/${second.token.token_hash}`)).body).not.toHaveProperty('issuer');
});

test('of tokens from before issuers were recorded, whoever wrote them is known until they are revoked', async () => {
  const world = await control();
  const stored = async (label: string, actor: string, revoked_at: number | null): Promise<void> => {
    const common = { shown_prefix: 'svc_at_', created_at: NOW_MS, expires_at: null, grants: null };
    const token_hash = label.charCodeAt(0).toString(16).padStart(64, '0');
    const facts = [{ body: { admin_token: { token_hash, label, revoked_at, ...common } } }];
    await world.journal.change((view) => ({ records: auditedRecords(view, facts, actor, NOW_MS), result: null }));
  };
  await stored('a', 'user:ada', null);
  await stored('b', 'cli', null);
  await stored('c', 'user:eve', NOW_MS);
  expect(await issuers(world)).toMatchObject({ a: 'ada', b: null, c: null });
});
