import type { SessionList, UserItem } from '#services/control_api/users.ts';
import { CANARY } from './operations_answers.ts';
import { refusal, type StubApi } from './stub_api.ts';

const META = { version: 'v1', changed_at: 0, changed_by: 'ana' };

type Grant = UserItem['grants'][number];
export const grantOf = (role: string, site_id: string | null): Grant => ({ role, account_id: null, site_id });

interface Changed {
  disabled?: boolean;
  grants?: Grant[];
  revoke_issued?: boolean;
}

/** Users, of which bea can be changed, with their sessions and those of who looks. */
export function withMembers(api: StubApi): StubApi {
  const user = (user_id: string, name: string, grants: Grant[], other = false): UserItem => ({
    ...{ user_id, name, created_at: 0, disabled_at: null, has_password: true, second_factor: true },
    ...{ recovery_codes_left: 9, provider_links: 0, grants, has_other_grants: other, ...META },
  });
  const users = [
    user('ana', 'Ana Lopes', [grantOf('owner', null)]),
    user('bea', CANARY, [grantOf('viewer', 'shop')]),
    user('cid', 'cid', [grantOf('analyst', 'blog')], true),
  ];
  const bea = users[1] as UserItem;
  const answer = api.answer.bind(api);
  const session = (id: string, current: boolean): SessionList['items'][number] => ({
    ...{ id: id.repeat(64), created_at: 0, seen_at: 0, network: '203.0.113.9', browser: 'Firefox on Linux', current },
  });
  let theirs = [session('c', false)];
  let own = [session('a', true), session('b', false)];
  return api
    .on('GET', '/v1/admin/users', () => ({ items: users, next: null }))
    .on('POST', '/v1/admin/users', (body) => {
      const { user_id, grants } = body as { user_id: string; grants: Grant[] };
      if (users.some((one) => one.user_id === user_id)) return refusal(409, 'user_exists', 'There is such a user.');
      users.push(user(user_id, user_id, grants));
      return { status: 201, body: users.at(-1) };
    })
    .on('PATCH', '/v1/admin/users/bea', (body) => {
      const { disabled, grants = bea.grants, revoke_issued } = body as Changed;
      const disabled_at = disabled === undefined ? bea.disabled_at : disabled ? 1 : null;
      Object.assign(bea, { grants, disabled_at, version: `${bea.version}+` });
      if (revoke_issued !== true) return bea;
      answer('POST', new URL(`http://api/v1/admin/tokens/${'2'.padStart(64, '0')}/revoke`), null);
      return { ...bea, revoked_issued: { tokens: ['ci'], tokens_left: false, analysts: [], analysts_left: false } };
    })
    .on('GET', /\/users\/[a-z]+\/sessions$/, () => ({ items: theirs }))
    .on('DELETE', '/v1/admin/users/bea/sessions', () => {
      theirs = [];
      return bea;
    })
    .on('GET', '/v1/sessions', () => ({ items: own }))
    .on('DELETE', /^\/v1\/sessions\/b+$/, () => {
      own = own.slice(0, 1);
      return {};
    });
}
