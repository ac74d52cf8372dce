// Changes of settings that requests ask for: their versions, how many somebody may make in a day, and how the audit has them.

import type { Principal } from '#pipelines/settings/access.ts';
import { behind, issuerKey } from '#pipelines/settings/admin_tokens.ts';
import { accountOfGrants } from '#pipelines/settings/audit.ts';
import {
  changesMadeRecord,
  notedRecord,
  type Planned,
  type SettingsJournal,
  type SettingsView,
  versionOf,
} from '#pipelines/settings/journal.ts';
import { changesMadeKey } from '#pipelines/settings/table.ts';
import type { ChangesMade, Setting } from '#schemas/setting.ts';
import type { Meta } from '#services/control_api/fields.ts';
import type { Judge } from './auth.ts';
import { type Refused, refused } from './route.ts';

/** What changes are written with. */
interface ChangeParts {
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
export function commitAs<T>(
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

/**
 * Has the audit say what is about to be done, by who asks as they are then.
 *
 * @param protects Whether it only takes away what lets somebody in.
 * @throws JournalError
 */
export function noteAs(
  parts: ChangeParts,
  judge: Judge,
  about: string,
  what: Record<string, unknown>,
  protects: boolean,
): Promise<Refused | null> {
  return commitAs<null>(parts, judge, (view, { actor, grants }) => {
    const who = { actor, accountId: accountOfGrants(grants, view.table) };
    return { records: [notedRecord(view, about, what, who, parts.nowMs())], result: null, protects };
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

/** The version of a fact, and who wrote it when. @throws when there is no such fact. */
export function metaOf(view: SettingsView, key: string): Meta {
  const record = recordOf(view, key);
  return { version: versionOf(record), changed_at: record.changed_at, changed_by: record.changed_by };
}

/**
 * Refuses a change of a fact that is not what its reader saw (412). Where If-Match must be sent and was not, that is
 * refused too (428): a change made blindly would undo another's.
 */
export function checkIfMatch(
  view: SettingsView,
  key: string,
  ifMatch: string | null,
  need: 'required' | 'optional',
): Refused | null {
  if (ifMatch === null) return need === 'required' ? refused('if_match_missing') : null;
  if (ifMatch.trim() === '*') return null;
  const version = versionOf(recordOf(view, key));
  const matches = ifMatch.split(',').some((tag) => tag.trim() === `"${version}"`);
  return matches ? null : refused('version_conflict');
}

function recordOf(view: SettingsView, key: string): Setting {
  const record = view.record(key);
  if (record === undefined) throw new Error(`no record under ${key}`);
  return record;
}
