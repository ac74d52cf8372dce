import { describe, expect, it, test } from 'vitest';
import {
  canGrant,
  hasPermissionAnywhere,
  may,
  OWNER_OF_ALL,
  PERMISSIONS,
  placeOf,
  ROLE_PERMISSIONS,
  ROLES,
} from '#pipelines/settings/access.ts';
import { blankUser, isSessionValid, ownersOfAll } from '#pipelines/settings/dashboard_users.ts';
import { accountKey, createSettingsTable, siteKey, userKey } from '#pipelines/settings/table.ts';
import type { Grant, Setting } from '#schemas/setting.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { account, NOW_MS, site } from './samples.ts';

const NOTHING = { changed_at: 1, changed_by: 'test', account: null, site: null, key: null, destination: null };

/** Accounts a and b; sites a1 and a2 of the one, b1 of the other. */
function table() {
  const made = createSettingsTable();
  const put = (key: string, body: Partial<Setting>) => made.apply(key, { ...NOTHING, ...body });
  for (const account_id of ['a', 'b']) put(accountKey(account_id), { account: account({ account_id }) });
  for (const site_id of ['a1', 'a2', 'b1']) {
    put(siteKey(site_id), { site: site({ site_id, account_id: site_id.slice(0, 1) }) });
  }
  return made;
}

const grant = (role: string, place: Partial<Grant> = {}): Grant => ({ ...OWNER_OF_ALL, role, ...place });
const of = (...grants: Grant[]) => ({ grants });
const SITE = { site_id: 'a1' };
const ACCOUNT = { account_id: 'a' };

describe('a grant', () => {
  it.each([
    [{}, ['a1', 'a2', 'b1', 'gone'], ['a', 'b', 'gone'], true],
    [ACCOUNT, ['a1', 'a2'], ['a'], false],
    [SITE, ['a1'], [], false],
    [{ account_id: 'gone' }, [], ['gone'], false],
    [{ site_id: 'gone' }, [], [], false],
  ])('of %j holds there and nowhere else', (place, sites, accounts, everywhere) => {
    const holder = of(grant('viewer', place));
    const all = table();
    const reads = (where: Parameters<typeof may>[2]) => may(holder, 'site.read', where, all);
    expect(['a1', 'a2', 'b1', 'gone'].filter((id) => reads({ site: id }))).toEqual(sites);
    expect(['a', 'b', 'gone'].filter((id) => reads({ account: id }))).toEqual(accounts);
    expect(reads('installation')).toBe(everywhere);
    expect(hasPermissionAnywhere(holder, 'site.read')).toBe(true);
    expect(hasPermissionAnywhere(holder, 'keys.read')).toBe(false);
  });

  it('follows a site that has another account', () => {
    const all = table();
    const holder = of(grant('viewer', ACCOUNT));
    all.apply(siteKey('a1'), { ...NOTHING, site: site({ site_id: 'a1', account_id: 'b' }) });
    expect(may(holder, 'site.read', { site: 'a1' }, all)).toBe(false);
  });

  it('permits nothing where its role is not known, and nobody anything without one', () => {
    const all = table();
    for (const role of ['', 'Owner', 'root', '__proto__', 'constructor']) {
      expect(PERMISSIONS.filter((one) => may(of(grant(role)), one, 'installation', all))).toEqual([]);
    }
    expect(PERMISSIONS.filter((one) => hasPermissionAnywhere(of(), one))).toEqual([]);
  });
});

describe('roles', () => {
  it('permit more from the viewer to the owner', () => {
    for (const role of ROLES) {
      expect(ROLE_PERMISSIONS.owner).toEqual(expect.arrayContaining([...ROLE_PERMISSIONS[role]]));
      expect(ROLE_PERMISSIONS[role]).toEqual(expect.arrayContaining([...ROLE_PERMISSIONS.viewer]));
      expect(new Set(ROLE_PERMISSIONS[role]).size).toBe(ROLE_PERMISSIONS[role].length);
    }
  });

  it('that do not manage others change no users, tokens or accounts, and see no persons as viewers and operators', () => {
    for (const role of ['analyst', 'operator', 'viewer'] as const) {
      for (const one of [
        'users.manage',
        'tokens.manage',
        'account.change',
        'site.change',
        'keys.change',
        'audit.read',
      ]) {
        expect(ROLE_PERMISSIONS[role]).not.toContain(one);
      }
    }
    expect(ROLE_PERMISSIONS.viewer.filter((one) => /persons|events|sql|change/.test(one))).toEqual([]);
    expect(ROLE_PERMISSIONS.operator.filter((one) => /persons|sql/.test(one))).toEqual([]);
  });
});

/** Who gives what of users, and of tokens. */
test('give what they have, where they were granted', () =>
  checkAll(
    [
      ['owner of all', grant('owner'), grant('owner'), true, true],
      ['owner of all', grant('owner'), grant('owner', SITE), true, true],
      ['admin of all', grant('admin'), grant('owner'), false, false],
      ['admin of all', grant('admin'), grant('owner', SITE), false, false],
      ['admin of all', grant('admin'), grant('admin'), true, false],
      ['admin of all', grant('admin'), grant('viewer'), true, false],
      ['admin of all', grant('admin'), grant('admin', ACCOUNT), true, true],
      ['owner of an account', grant('owner', ACCOUNT), grant('owner', ACCOUNT), true, true],
      ['owner of an account', grant('owner', ACCOUNT), grant('viewer'), false, false],
      ['owner of an account', grant('owner', ACCOUNT), grant('viewer', { site_id: 'b1' }), false, false],
      ['owner of an account', grant('owner', ACCOUNT), grant('viewer', { site_id: 'gone' }), false, false],
      ['admin of an account', grant('admin', ACCOUNT), grant('analyst', SITE), true, true],
      ['admin of a site', grant('admin', SITE), grant('viewer', ACCOUNT), false, false],
      ['analyst of all', grant('analyst'), grant('viewer', SITE), false, false],
    ],
    ([_who, own, given, users, tokens]) => {
      expect(canGrant(of(own), given, 'users.manage', table())).toBe(users);
      expect(canGrant(of(own), given, 'tokens.manage', table())).toBe(tokens);
    },
  ));

test('owners of the installation are counted where they may sign in, and a session by when it began', () => {
  const all = table();
  const put = (id: string, changes: object) =>
    all.apply(userKey(id), { ...NOTHING, user: { ...blankUser(id, id, NOW_MS), ...changes } });
  put('root', { grants: [OWNER_OF_ALL], password: 'sealed' });
  put('linked', { grants: [OWNER_OF_ALL], oidc_subjects: ['subject'] });
  put('without', { grants: [OWNER_OF_ALL] });
  put('gone', { grants: [OWNER_OF_ALL], password: 'sealed', disabled_at: NOW_MS });
  put('small', { grants: [grant('owner', ACCOUNT)] });
  put('anew', { sessions_from: NOW_MS });
  expect(ownersOfAll(all).map(({ user_id }) => user_id)).toEqual(['linked', 'root']);
  expect(placeOf(OWNER_OF_ALL)).toBe('installation');
  const goesOn = (id: string, createdMs: number) => isSessionValid(all.user(id), createdMs);
  expect([goesOn('root', 1), goesOn('gone', 1), goesOn('none', 1)]).toEqual([true, false, false]);
  expect([goesOn('anew', NOW_MS - 1), goesOn('anew', NOW_MS)]).toEqual([false, true]);
});
