import { expect, test } from 'vitest';
import { createLogger } from '#infra/log/logger.ts';
import { createSignInAudit } from '#services/control/users/sign_in.ts';
import { control, NOW_MS } from './harness.ts';

const from = { network: '127.0.0.1', browser: 'none' };

test('sign-ins of one user stand in the audit 60 times an hour, each user for themselves, and say how many are left out', async () => {
  const { journal } = await control();
  let nowMs = NOW_MS;
  const audit = createSignInAudit(journal, createLogger('test', 'silent'), () => nowMs);
  for (let times = 0; times < 100; times++) audit.signedIn('ada', from);
  audit.signedIn('eve', from);
  nowMs += 3_600_000;
  audit.signedIn('ada', from);
  await new Promise((resolve) => setImmediate(resolve));
  const written = journal.view().audit.list(200, null, ({ setting_key }) => setting_key.startsWith('user/'));
  expect(written.filter(({ changed_by }) => changed_by === 'user:ada')).toHaveLength(61);
  expect(written.filter(({ changed_by }) => changed_by === 'user:eve')).toHaveLength(1);
  expect(JSON.parse(written[0]?.after ?? '')).toEqual({ done: 'user.sign_in', ...from, unrecorded: 40 });
});

test('refusals that anybody can cause leave out no right password whose second factor is asked for', async () => {
  const { journal } = await control();
  const audit = createSignInAudit(journal, createLogger('test', 'silent'), () => NOW_MS);
  for (let times = 0; times < 100; times++) audit.signInRefused(`user-${times}`, 'password', '127.0.0.1');
  for (let times = 0; times < 40; times++) audit.codeAsked('ada', `10.0.0.${times}`);
  audit.codeAsked('eve', '127.0.0.1');
  audit.codeAsked('eve', '127.0.0.1');
  await new Promise((resolve) => setImmediate(resolve));
  const written = journal.view().audit.list(200, null, ({ after }) => after?.includes('user.code_asked') === true);
  expect(written.filter(({ setting_key }) => setting_key === 'user/ada')).toHaveLength(30);
  expect(written.filter(({ setting_key }) => setting_key === 'user/eve')).toHaveLength(1);
});
