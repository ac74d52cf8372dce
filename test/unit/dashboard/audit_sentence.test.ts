import { expect, test, vi } from 'vitest';
import type { AuditItem } from '#services/control_api/audit.ts';
import { auditSentence } from '#services/dashboard/src/pages/audit/audit_log.tsx';

// The router reads it as soon as it is imported.
vi.hoisted(() => vi.stubGlobal('location', new URL('http://localhost/dashboard/')));

const HASH = 'a'.repeat(64);

const said = (setting_key: string, rest: Partial<AuditItem>): string =>
  auditSentence({
    ...{ seq: 1, changed_at: 0, changed_by: 'user:ada', setting_key, action: 'change', before: {}, after: {} },
    ...{ secrets_changed: [], ...rest },
  });

test('changes of facts name the fields and the thing', () => {
  const change = { before: { name: 'a', time_zone: 'UTC' }, after: { name: 'b', time_zone: 'CET' } };
  expect(said('site/shop', change)).toBe('ada changed the name and the time zone of the site shop');
  expect(said('destination/shop/meta', { secrets_changed: ['access_token'], changed_by: 'ci' })).toBe(
    'ci changed the access token of the destination meta of shop',
  );
  const many = { before: { a: 1, b: 1, c: 1, d: 1, e: 1 }, after: {} };
  expect(said('account/acme', many)).toBe('ada changed the a, the b, the c and 2 more of the account acme');
});

test('what is made, ended and removed is called so', () => {
  const after = { site_id: 'shop', shown_prefix: 'svc_pk_4fGh2' };
  expect(said(`key/${HASH}`, { action: 'create', before: null, after })).toBe(
    'ada created the key svc_pk_4fGh2… of shop',
  );
  expect(said(`key/${HASH}`, { before: { revoked_at: null }, after: { revoked_at: 5 } })).toBe('ada revoked a key');
  const survey = { action: 'delete', before: { name: 'NPS' }, after: null } as const;
  expect(said('engage/shop/survey/nps', survey)).toBe('ada removed the survey NPS of shop');
  expect(said('user/bea', { before: { disabled_at: null }, after: { disabled_at: 5 } })).toBe(
    'ada disabled the user bea',
  );
});

test('what changed no fact is told as it was done', () => {
  expect(said('user/ada', { after: { done: 'user.sign_in' } })).toBe('ada signed in');
  const refused = { done: 'user.sign_in_refused', reason: 'password_wrong' };
  expect(said('user', { changed_by: 'sign-in', after: refused })).toBe(
    'A sign-in of an unknown user failed: password wrong',
  );
  expect(said('site/shop', { after: { done: 'permission.refused', operation: 'changeSite' } })).toBe(
    'ada was not permitted to change site: the site shop',
  );
  expect(said('dead_letters', { after: { resend: ['a', 'b'] } })).toBe('ada resent 2 dead letters');
  expect(said('queries', { after: { cancel: 'q' } })).toBe('ada ended a query');
  expect(said('rates', { after: { base: 'EUR', rates: 2 } })).toBe('ada loaded rates of currencies');
  expect(said('rates', { after: { clear: true } })).toBe('ada took the rates of currencies back');
});
