// Users as those manage them who may: made, changed, invited, disabled.

import type { Static } from 'typebox';
import {
  canGrant,
  may,
  OWNER_OF_ALL,
  type Permission,
  type Place,
  type Principal,
} from '#pipelines/settings/access.ts';
import { behind, behindUser, issuerKey } from '#pipelines/settings/admin_tokens.ts';
import * as members from '#pipelines/settings/dashboard_users.ts';
import {
  auditedRecords,
  type Fact,
  notedRecord,
  type SettingsJournal,
  type SettingsView,
} from '#pipelines/settings/journal.ts';
import { problem } from '#pipelines/settings/problems.ts';
import { userKey } from '#pipelines/settings/table.ts';
import type { User } from '#schemas/setting.ts';
import { closed, pageFields, pageOf } from '#services/control_api/fields.ts';
import * as api from '#services/control_api/users.ts';
import type { PrincipalId } from '../auth.ts';
import { checkIfMatch, commitAs, metaOf, noteAs } from '../changes.ts';
import {
  doneWith,
  type KnownAsked,
  listed,
  type Needs,
  ofListed,
  type Refused,
  refused,
  resource,
  route,
  type SessionAnswer,
} from '../route.ts';
import { revokeAnalystsOf } from './analysts.ts';
import { invite } from './oidc.ts';
import { hashed, sessionItem } from './own_session.ts';
import type { UserSecrets } from './sign_in.ts';
import { revokedIssued } from './tokens.ts';

const USERS_MAX = 1_000;
/** Those of a place, whose managers else could leave no room for any other's. */
const USERS_OF_PLACE_MAX = 200;
const base = '/v1/admin/users';

/** Anywhere where the user has a grant and who asks manages users; a user whom they do not see is as one that there is not. */
const ofUser: Needs = {
  permission: 'users.manage',
  of({ params }, { table }, principal) {
    const user = table.user((params as Static<typeof api.userParams>).user_id);
    const isSeen = user?.grants.some((grant) => members.seesGrant(principal, grant, table));
    return isSeen === true ? 'listed' : 'installation';
  },
};

export const userRoutes = resource('Users', [
  route('GET', base, 'listUsers', {
    access: ofListed('users.manage'),
    summary: 'List the users who may something where you manage users',
    query: closed(pageFields),
    success: { status: 200, schema: pageOf(api.userShape), description: 'Users, sorted by id' },
    run({ query }, { view, principal }) {
      const users = view.table.users().filter((user) => members.seesUser(principal, user, view.table));
      return listed(users, query, 'user_id', (user) => itemOf(view, user, principal));
    },
  }),
  route('POST', base, 'createUser', {
    access: ofListed('users.manage'),
    requiresReauthentication: () => true,
    summary: 'Make a user, who may no more than who makes it',
    body: api.newUser,
    success: { status: 201, schema: api.userShape, description: 'The user' },
    errors: ['user_exists', 'limit_reached', 'sign_in_busy', 'settings_not_stored'],
    async inSession({ body: { user_id, name = user_id, grants, password } }, asked) {
      const sealed = password === undefined ? undefined : await hashed(asked.parts, user_id, password, 'anybody');
      if (sealed === null) return refused('sign_in_busy');
      const change = {
        name,
        grants: grants.map(members.fullGrant),
        ...(sealed === undefined ? {} : { password: sealed }),
      };
      return written(asked, user_id, (view, before, principal) => {
        // First, as whoever may not make the user is not told that there is one.
        const isGiven = change.grants.every((grant) => canGrant(principal, grant, 'users.manage', view.table));
        if (!isGiven) return refused('permission_missing');
        if (before !== undefined) return refused('user_exists');
        return isFull(principal, view) ? refused('limit_reached') : change;
      });
    },
  }),
  route('GET', `${base}/{user_id}`, 'getUser', {
    access: ofUser,
    summary: 'Read a user',
    params: api.userParams,
    success: { status: 200, schema: api.userShape, description: 'The user' },
    errors: ['user_unknown'],
    run({ params: { user_id } }, { view, principal }) {
      const user = view.table.user(user_id);
      if (user === undefined) return refused('user_unknown');
      if (!members.seesUser(principal, user, view.table)) return refused('permission_missing');
      return doneWith([], () => itemOf(view, user, principal));
    },
  }),
  route('PATCH', `${base}/{user_id}`, 'changeUser', {
    access: ofUser,
    requiresReauthentication: ({ body }) => letsIn(body),
    summary:
      'Change what is given of a user: grants, name, password, or whether it may sign in; and revoke what they issued',
    params: api.userParams,
    body: api.userChange,
    ifMatch: 'optional',
    success: { status: 200, schema: api.changedUserShape, description: 'The user as it is now' },
    errors: ['user_unknown', 'owner_last', 'sign_in_busy', 'settings_not_stored'],
    async inSession({ params: { user_id }, body, ifMatch }, asked) {
      const { password, grants, second_factor, provider_links, revoke_issued, ...rest } = body;
      const own = Object.entries({ password, second_factor, provider_links }).find(([, value]) => value !== undefined);
      if (own !== undefined && isOwn(asked, user_id)) return ofOwnSignIn(own[0]);
      const sealed = typeof password === 'string' ? await hashed(asked.parts, user_id, password, 'anybody') : undefined;
      if (sealed === null) return refused('sign_in_busy');
      const change: members.UserChange = {
        ...rest,
        ...(password === undefined ? {} : { password: sealed ?? null }),
        ...(grants === undefined ? {} : { grants: grants.map(members.fullGrant) }),
        ...(second_factor === undefined ? {} : { removesSecondFactor: true }),
        ...(provider_links === undefined ? {} : { removesLinks: true }),
      };
      let tokens: ReturnType<typeof revokedIssued> = { revoked: [], kept: 0 };
      const answer = await written(
        asked,
        user_id,
        (view, before, principal) => {
          if (before === undefined) return refused('user_unknown');
          if (!members.seesUser(principal, before, view.table)) return refused('permission_missing');
          return checkIfMatch(view, userKey(user_id), ifMatch, 'optional') ?? change;
        },
        (view, principal) => {
          if (revoke_issued === true) tokens = revokedIssued(user_id, view, principal, asked.parts.nowMs());
          return tokens.revoked.map((admin_token) => ({ body: { admin_token } }));
        },
      );
      if (answer.kind === 'refused' || revoke_issued !== true) return answer;
      const analysts = await analystsRevoked(asked, user_id);
      const revoked_issued: api.RevokedIssued = {
        tokens: tokens.revoked.map(({ label }) => label),
        tokens_left: tokens.kept > 0,
        analysts: analysts?.revoked ?? null,
        // How many there are elsewhere is for who manages them there.
        analysts_left: analysts === null || analysts.kept > 0,
      };
      return { ...answer, body: { ...answer.body, revoked_issued } };
    },
  }),
  route('GET', `${base}/{user_id}/sessions`, 'listUserSessions', {
    access: ofUser,
    summary: 'List the sessions of a user',
    params: api.userParams,
    success: { status: 200, schema: api.sessionListShape, description: 'Sessions, the newest first' },
    errors: ['user_unknown'],
    async inSession({ params: { user_id } }, { parts, caller }) {
      const { table } = parts.journal.view();
      const user = table.user(user_id);
      if (user === undefined) return refused('user_unknown');
      if (!members.managesUser(caller.principal, user, table)) return refused('permission_missing');
      const going = (await parts.sessions.list(user_id)).filter(({ createdMs }) => createdMs >= user.sessions_from);
      const body: api.SessionList = { items: going.map((session) => sessionItem(session, caller.session)) };
      return { kind: 'answered', body };
    },
  }),
  route('DELETE', `${base}/{user_id}/sessions`, 'endUserSessions', {
    access: ofUser,
    summary: 'End all sessions of a user',
    params: api.userParams,
    success: { status: 200, schema: api.userShape, description: 'The user' },
    errors: ['user_unknown', 'settings_not_stored'],
    inSession: ({ params: { user_id } }, asked) =>
      written(asked, user_id, (_view, before) =>
        before === undefined ? refused('user_unknown') : { endsSessions: true },
      ),
  }),
  route('POST', `${base}/{user_id}/invitation`, 'inviteUser', {
    access: ofUser,
    requiresReauthentication: () => true,
    summary: 'Make an invitation, by which a user links their account at a provider once; it is shown once',
    params: api.userParams,
    body: closed({}),
    success: { status: 201, schema: api.invitationShape, description: 'The invitation' },
    errors: ['user_unknown', 'sessions_unavailable', 'settings_not_stored'],
    async inSession({ params: { user_id } }, asked) {
      const { parts } = asked;
      const noted = await commitAs<Invited | Refused>(parts, asked.judge, (view, principal) => {
        const user = view.table.user(user_id);
        if (user === undefined) return { records: [], result: refused('user_unknown') };
        if (!members.managesUser(principal, user, view.table))
          return { records: [], result: refused('permission_missing') };
        if (isOwn(asked, user_id)) return { records: [], result: ofOwnSignIn('invitation') };
        const note = notedRecord(view, userKey(user_id), { done: 'user.invite' }, principal, parts.nowMs());
        return { records: [note], result: { user, inviter: { kind: principal.kind, id: principal.id } } };
      });
      if ('kind' in noted) return noted;
      const { invitation, expiresMs } = await invite(parts, noted.user, noted.inviter);
      const body: api.Invitation = { invitation, expires_at: expiresMs };
      return { kind: 'answered', body };
    },
  }),
]);

interface Invited {
  user: User;
  inviter: PrincipalId;
}

/** Whether a change decides who signs in as a user, or what they may. To disable one is done at once, and so is a name. */
const letsIn = ({
  grants,
  password,
  second_factor,
  provider_links,
  disabled,
}: Static<typeof api.userChange>): boolean =>
  [grants, password, second_factor, provider_links].some((field) => field !== undefined) || disabled === false;

/** Whether somebody asks about themselves, in a session: one that was found open must not be enough to change how they sign in. */
const isOwn = ({ caller: { session } }: KnownAsked, userId: string): boolean => session?.userId === userId;

function ofOwnSignIn(field: string): Refused {
  const message = 'is changed under /v1/session, with the password there is';
  return refused('settings_invalid', [problem('own_sign_in', field, message)]);
}

function isFull(principal: Principal, view: SettingsView): boolean {
  const { table } = view;
  const users = table.users();
  if (may(principal, 'users.manage', 'installation', table)) return users.length >= USERS_MAX;
  // Also those that they made and took every grant from, whom they see no more.
  const root = behind(view, principal);
  const isTheirs = ({ user_id, made_by }: User): boolean => made_by !== null && behindUser(view, user_id) === root;
  const own = users.filter((user) => isTheirs(user) || members.seesUser(principal, user, table));
  return own.length >= USERS_OF_PLACE_MAX || users.length >= USERS_MAX;
}

/** Whether a change takes away what lets somebody in, and nothing else; one of nothing may be of what they issued. */
function locksOut(change: members.UserChange): boolean {
  const { disabled, endsSessions: _endsSessions, ...others } = change;
  return Object.keys(others).length === 0 && disabled !== false;
}

/** Revokes the users of ClickHouse that somebody made, by what who asks may at each. */
function analystsRevoked({ parts, judge, caller, analysts }: KnownAsked, userId: string) {
  const view = parts.journal.view();
  const world = {
    view,
    may: (permission: Permission, at: Place) => may(caller.principal, permission, at, view.table),
  };
  const note = async (about: string, what: Record<string, unknown>) =>
    (await noteAs(parts, judge, about, what, true)) ?? world;
  return revokeAnalystsOf(userId, analysts, world, note);
}

/** Writes what `plan` decides of a user, as the settings are when it is its turn, and answers the user. */
async function written(
  { parts, judge, caller }: KnownAsked,
  userId: string,
  plan: (view: SettingsView, before: User | undefined, principal: Principal) => members.UserChange | Refused,
  also: (view: SettingsView, principal: Principal) => Fact[] = () => [],
): Promise<SessionAnswer> {
  const { journal, nowMs } = parts;
  const problem = await commitAs<Refused | null>(parts, judge, (view, principal) => {
    const before = view.table.user(userId);
    const change = plan(view, before, principal);
    if ('kind' in change) return { records: [], result: change };
    const isOfAll = may(principal, 'users.manage', 'installation', view.table);
    const blank = { ...members.blankUser(userId, userId, nowMs()), made_by: isOfAll ? null : issuerKey(principal) };
    const changed = members.changedUser(principal, blank, before ?? null, change, view.table, nowMs());
    if (!changed.ok) {
      const problems = 'problems' in changed ? changed.problems : [];
      return { records: [], result: refused(changed.code, problems) };
    }
    const facts = [{ body: { user: changed.user } }, ...also(view, principal)];
    return { records: auditedRecords(view, facts, principal.actor, nowMs()), result: null, protects: locksOut(change) };
  });
  if (problem !== null) return problem;
  const view = journal.view();
  const item = itemOf(view, view.table.user(userId) as User, caller.principal);
  return { kind: 'answered', body: item, version: item.version };
}

/** A user without what signs in, and without what is not for who asks. */
function itemOf(view: SettingsView, user: User, principal: Principal): api.UserItem {
  const { user_id, name, created_at, disabled_at, password, totp, recovery_codes, oidc_subjects } = user;
  const grants = user.grants.filter((grant) => members.seesGrant(principal, grant, view.table));
  return {
    ...{ user_id, name, created_at, disabled_at },
    has_password: password !== null,
    second_factor: totp !== null,
    recovery_codes_left: recovery_codes.length,
    provider_links: oidc_subjects.length,
    grants: grants.map(members.fullGrant),
    has_other_grants: grants.length < user.grants.length,
    ...metaOf(view, userKey(user_id)),
  };
}

/**
 * Makes the configured first user an owner of the installation, so that there is one to make others. A user that is there
 * already stays as it is: a restart brings back neither a former password nor one who was disabled.
 */
export async function ensureFirstUser(
  journal: SettingsJournal,
  { seal }: UserSecrets,
  { userId, passwordHash }: { userId: string; passwordHash: string },
  nowMs: number,
): Promise<void> {
  const password = seal(userId, 'password', passwordHash);
  const user = { ...members.blankUser(userId, userId, nowMs), grants: [OWNER_OF_ALL], password };
  await journal.change((view) => {
    const facts = view.table.user(userId) === undefined ? [{ body: { user } }] : [];
    return { records: auditedRecords(view, facts, members.CONFIGURATION, nowMs), result: undefined };
  });
}
