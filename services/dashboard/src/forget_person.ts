import { effect } from '@preact/signals';
import { dropProof } from './ask_for_proof.ts';
import { leaveAsked } from './ask_to_leave.ts';
import { keepPeriod } from './kept_period.ts';
import { forgetSites } from './site_list.ts';
import { dropToasts } from './ui/toast.tsx';
import { session, who } from './who.ts';

/**
 * Forgets what belongs to a person as soon as nobody, or somebody else, is here: what they were about to do, their sites, the
 * time that they looked at and what they were told. A session that has ended is still theirs.
 */
export function forgetPersons(): void {
  let known: string | null = null;
  effect(() => {
    const now = who.value?.id ?? null;
    // The page is hidden then, and what was told is of it.
    if (session.value.state === 'ended') dropToasts();
    const before = known;
    known = now;
    if (before === null || now === before) return;
    dropProof();
    leaveAsked.value = null;
    forgetSites();
    keepPeriod(new URLSearchParams());
    dropToasts();
  });
}
