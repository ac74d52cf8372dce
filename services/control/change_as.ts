import type { Principal } from '#pipelines/settings/access.ts';
import type { Planned, SettingsJournal, SettingsView } from '#pipelines/settings/journal.ts';
import type { Judge } from './judge_caller.ts';
import { type Refused, refused } from './route.ts';

/** What changes are written with. */
export interface ChangeParts {
  journal: SettingsJournal;
}

/**
 * Writes what somebody has asked for; every request that changes settings, or notes what it does, comes by here. Who asks is
 * judged again when it is their turn, by the settings that are changed.
 *
 * @param plan What is written, by the settings and who asks as they are then.
 * @throws JournalError
 */
export function changeAs<T>(
  { journal }: ChangeParts,
  judge: Judge,
  plan: (view: SettingsView, principal: Principal) => Planned<T>,
): Promise<T | Refused> {
  return journal.change<T | Refused>((view) => {
    const judged = judge(view);
    return judged.ok ? plan(view, judged.caller.principal) : { records: [], result: refused(judged.code) };
  });
}
