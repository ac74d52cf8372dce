import type { Principal } from '#pipelines/settings/access.ts';
import {
  changesMadeRecord,
  type Planned,
  type SettingsJournal,
  type SettingsView,
} from '#pipelines/settings/journal.ts';
import { changesMadeKey } from '#pipelines/settings/setting_address.ts';
import { behind, issuerKey } from '#pipelines/settings/token_issuers.ts';
import type { ChangesMade } from '#schemas/setting.ts';
import type { Judge } from './judge_caller.ts';
import { type Refused, refused } from './route.ts';

/** What changes are written with. */
export interface ChangeParts {
  journal: SettingsJournal;
  nowMs(): number;
}

/**
 * What one may change in a day, together with the tokens and users that go back to them; the audit keeps 5,000 changes of an
 * account, which nobody alone may push out within two days.
 */
export const CHANGES_MAX = 2_000;
/** Beyond that: who has used up the day, or had it used up by a thief, can still lock the thief out. */
export const PROTECTING_MAX = 200;
/** Of these the tokens that somebody issued leave some to them: one that was stolen must not keep them from revoking it. */
export const PROTECTING_OF_TOKENS_MAX = 100;
const DAY_MS = 86_400_000;

/** What is written; `protects` where it only takes away what lets somebody in. */
export type ChangePlan<T> = Planned<T> & { protects?: boolean };

/**
 * Writes what somebody has asked for; every request that changes settings, or notes what it does, comes by here. Who asks is
 * judged again when it is their turn, by the settings that are changed; beyond what one may change in a day they are refused,
 * except for some that protect.
 *
 * @param plan What is written, by the settings and who asks as they are then.
 * @throws JournalError
 */
export function changeAs<T>(
  { journal, nowMs }: ChangeParts,
  judge: Judge,
  plan: (view: SettingsView, principal: Principal) => ChangePlan<T>,
): Promise<T | Refused> {
  return journal.change<T | Refused>((view) => {
    const judged = judge(view);
    if (!judged.ok) return { records: [], result: refused(judged.code) };
    const { principal } = judged.caller;
    const planned = plan(view, principal);
    const changes = planned.records.filter(({ setting }) => setting?.audit).length;
    if (changes === 0) return planned;
    const made = madeToday(view, behind(view, principal), nowMs());
    const count = made.count + changes;
    if (count > mostOf(view, principal, planned)) return { records: [], result: refused('changes_limited') };
    // First, as what was written is waited for by its last entry of the audit.
    const counted = changesMadeRecord({ ...made, count }, principal.actor, nowMs());
    return { ...planned, records: [counted, ...planned.records] };
  });
}

/** What those who stand behind somebody have made of a day, which begins with the first change after another. */
function madeToday(view: SettingsView, by: string, nowMs: number): ChangesMade {
  const made = view.record(changesMadeKey(by))?.changes_made ?? null;
  return made === null || nowMs - made.since >= DAY_MS ? { by, since: nowMs, count: 0 } : made;
}

function mostOf(view: SettingsView, principal: Principal, { protects }: ChangePlan<unknown>): number {
  if (protects !== true) return CHANGES_MAX;
  const isFirst = behind(view, principal) === issuerKey(principal);
  return CHANGES_MAX + (isFirst ? PROTECTING_MAX : PROTECTING_OF_TOKENS_MAX);
}
