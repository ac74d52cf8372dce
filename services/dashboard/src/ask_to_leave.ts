import { signal } from '@preact/signals';
import { holdBack } from './router.ts';
import { wouldLose } from './ui/unsaved.ts';

/** Where somebody is asked whether they leave what would be lost: what leaves it. */
export const leaveAsked = signal<(() => void) | null>(null);

/** Asks before the way back, or leaving the dashboard, loses what was typed or is shown once. */
export function askToLeave(): void {
  holdBack((leave) => {
    if (!wouldLose()) return false;
    leaveAsked.value = leave;
    return true;
  });
  addEventListener('beforeunload', (event) => {
    if (wouldLose()) event.preventDefault();
  });
}
