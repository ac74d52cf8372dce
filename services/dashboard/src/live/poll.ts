import { session } from '../who.ts';

/**
 * Runs a task now and then every so often, measured from the end of the last run, so that runs never overlap. While the
 * page is hidden, or the session has ended, none begins; one that is due begins as soon as it is shown again. With null it
 * runs once, when the page is shown. Answers how to stop it.
 */
export function poll(task: () => Promise<void>, everyMs: number | null): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isRunning = false;
  let isDue = true;
  let isStopped = false;

  const begin = (): void => {
    clearTimeout(timer);
    isDue = true;
    if (isStopped || isRunning || isAway()) return;
    isRunning = true;
    isDue = false;
    void task().finally(() => {
      isRunning = false;
      // What was refused as of nobody is asked again of whoever signs in.
      isDue = hasEnded();
      if (everyMs !== null && !isStopped) timer = setTimeout(begin, everyMs);
    });
  };
  const onBack = (): void => {
    if (!isAway() && isDue) begin();
  };
  document.addEventListener('visibilitychange', onBack);
  const unsubscribe = session.subscribe(onBack);
  return () => {
    isStopped = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', onBack);
    unsubscribe();
  };
}

const hasEnded = (): boolean => session.peek().state === 'ended';
const isAway = (): boolean => document.hidden || hasEnded();
