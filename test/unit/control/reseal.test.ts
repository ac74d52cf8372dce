import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { openSecret, parseKeyRing, sealSecret } from '#infra/secrets/seal.ts';
import { blankUser } from '#pipelines/settings/dashboard_users.ts';
import { auditedRecords, createSettingsView, type SettingsJournal } from '#pipelines/settings/journal.ts';
import { resealSecrets } from '#services/control/reseal.ts';
import { createUserSecrets } from '#services/control/users/sign_in.ts';

const keyOf = (id: string, byte: number): string => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;
const place = (field: string) => ({ siteId: 'shop', destination: 'meta', field });

it('seals anew what another key has sealed, and leaves and counts what does not open', async () => {
  const lines: unknown[][] = [];
  const logger = { info: (...line: unknown[]) => lines.push(line), error: (...line: unknown[]) => lines.push(line) };
  const [lost, old, both] = [keyOf('k0', 0), keyOf('k1', 1), `${keyOf('k2', 2)},${keyOf('k1', 1)}`].map(parseKeyRing);
  if (lost === undefined || old === undefined || both === undefined) throw new Error('no rings');
  const users = (ring: typeof old) => createUserSecrets(ring, randomBytes, logger);
  const view = createSettingsView();
  const journal = {
    view: () => view,
    async change(plan: Parameters<SettingsJournal['change']>[0]) {
      const { records, result } = plan(view);
      for (const { key, setting } of records) view.apply(key, setting);
      return result;
    },
  } as SettingsJournal;
  const sealed = (ring: typeof old, field: string) => sealSecret(ring, place(field), `the ${field}`, randomBytes);
  const secrets = { access_token: sealed(old, 'access_token'), test_code: sealed(lost, 'test_code') };
  const destination = { site_id: 'shop', name: 'meta', enabled: true, settings: { pixel_id: '1' }, secrets };
  const ada = { ...blankUser('ada', 'Ada', 0), password: users(old).seal('ada', 'password', 'a hash') };
  const bob = { ...blankUser('bob', 'Bob', 0), totp: users(both).seal('bob', 'totp', 'a secret') };
  const facts = [{ body: { destination } }, { body: { user: ada } }, { body: { user: bob } }];
  for (const { key, setting } of auditedRecords(view, facts, 'tester', 0)) view.apply(key, setting);

  const reseal = (atMs: number) => resealSecrets(journal, both, randomBytes, logger, () => atMs);
  expect(await reseal(1)).toEqual({ resealed: 2, unopened: 1 });
  const only = parseKeyRing(keyOf('k2', 2));
  const now = view.table.destination('shop', 'meta');
  expect(now).toMatchObject({ settings: { pixel_id: '1' }, secrets: { test_code: secrets.test_code } });
  expect(openSecret(only, place('access_token'), now?.secrets['access_token'] ?? '')).toEqual({
    ok: true,
    value: 'the access_token',
  });
  expect(users(only).open('ada', 'password', view.table.user('ada')?.password ?? '')).toBe('a hash');
  expect(view.table.user('bob')).toEqual(bob);
  expect(await reseal(2)).toEqual({ resealed: 0, unopened: 1 });
  expect(JSON.stringify(lines)).not.toMatch(/a hash|the access_token/);
});
