import type { SessionList, UserItem } from '#services/control_api/users.ts';
import type { Answer } from '../../api/api_answer.ts';
import { request } from '../../api/request.ts';

/** Random bytes of the browser. */
export const browserBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count));

const pathOf = (userId: string, rest = ''): string => `/v1/admin/users/${encodeURIComponent(userId)}${rest}`;

/** What the service is to change of a user. */
interface MemberChange {
  name?: string;
  grants?: readonly UserItem['grants'][number][];
  disabled?: boolean;
  password?: string;
  second_factor?: false;
  revoke_issued?: true;
}

/** A user as they are now. */
export const readMember = (userId: string): Promise<Answer<UserItem>> => request('GET', pathOf(userId));

/** Changes a user, unless somebody else did since it was read. */
export function changeMember({ user_id, version }: UserItem, body: MemberChange): Promise<Answer<UserItem>> {
  return request('PATCH', pathOf(user_id), { body, version });
}

/** The sessions of a user that go on. */
export function sessionsOf(userId: string, signal: AbortSignal): Promise<Answer<SessionList>> {
  return request('GET', pathOf(userId, '/sessions'), { signal });
}

/** Ends all sessions of a user. */
export function endSessionsOf(userId: string): Promise<Answer<UserItem>> {
  return request('DELETE', pathOf(userId, '/sessions'));
}
