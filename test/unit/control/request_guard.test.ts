import { expect, it } from 'vitest';
import { isReservedActor } from '#pipelines/settings/dashboard_users.ts';
import { isOwnHost, sessionCookieFor } from '#services/control/auth.ts';

const names = { publicUrl: new URL('https://control.example'), hosts: ['inner.example:8090'] };

it.each([
  ['control.example', true],
  ['Control.Example.', true],
  ['control.example:443', true],
  ['control.example.:443', true],
  ['control.example:80', false],
  ['control.example:8443', false],
  ['control.example.evil.example', false],
  ['inner.example:8090', true],
  ['localhost:8090', true],
])('%s as a Host is of this service: %j', (host, isOwn) => {
  expect(isOwnHost(host, names)).toBe(isOwn);
});

it('people sign in under the public name, however its Host is written', () => {
  expect(sessionCookieFor('CONTROL.example:443', names)).toEqual({
    origin: 'https://control.example',
    cookie: '__Host-svc_session',
    isSecure: true,
  });
});

it.each(['localhost:99999', '127.0.0.1:65536', '[::1]:70000'])(
  'nobody signs in at %s, a port that there is not',
  (host) => {
    expect(sessionCookieFor(host, names)).toBeNull();
  },
);

it.each([
  'user:ada',
  'USER:ada',
  'ｕser:ada',
  'u\u200bser:ada',
  '\u2068user:ada\u2069',
  'sign-in',
  'Configuration',
  'Domain-Watch',
  'shared link x',
])('the label %j would stand in the audit for somebody else', (label) => {
  expect(isReservedActor(label)).toBe(true);
});

it.each(['deploy', 'local', 'users of the till', 'Bücher'])('the label %j is a token’s', (label) => {
  expect(isReservedActor(label)).toBe(false);
});
