import type { Place } from '#pipelines/settings/access.ts';
import { lacksSecondFactor } from '#pipelines/settings/dashboard_users.ts';
import type { SettingsView } from '#pipelines/settings/journal.ts';
import { type Caller, stillKnown } from './authenticate.ts';
import type { ControlErrorCode } from './errors.ts';
import { type Access, lacking } from './route_access.ts';
import type { Input } from './route_input.ts';
import type { SignInParts } from './sign_in.ts';

/** Who asks as they are by some settings, or why they may not; `place`: where they lack the permission. */
type Judged = { ok: true; caller: Caller } | { ok: false; code: ControlErrorCode; place: Place | 'listed' | null };

/** Judges whether who asked may do it, by the settings that are given. */
export type Judge = (view: SettingsView) => Judged;

/**
 * Whoever asked may be disabled, or their token revoked, or they be given less, while a body arrives, a password is hashed or
 * other changes have their turn: what they ask for is judged again by the very settings that it changes. Who lacks a second factor
 * that their role takes may do what everybody known may, which is to set one up.
 */
export function judgeOf(
  access: Access,
  input: Input,
  arrived: Caller,
  { nowMs, secondFactorRoles }: Pick<SignInParts, 'nowMs' | 'secondFactorRoles'>,
): Judge {
  return (view) => {
    const still = stillKnown(view.table, arrived, nowMs());
    if (!still.ok) return { ...still, place: null };
    const { session } = still.caller;
    const user = session === null || access === 'known' ? undefined : view.table.user(session.userId);
    if (user !== undefined && lacksSecondFactor(user, secondFactorRoles)) {
      return { ok: false, code: 'second_factor_required', place: null };
    }
    const lacked = lacking(access, input, still.caller.principal, view);
    return lacked === null ? still : { ok: false, code: 'permission_missing', place: lacked.place };
  };
}
