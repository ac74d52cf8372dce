/**
 * Runs a task now and then every so often, measured from the end of the last run, so that runs never overlap. While the
 * page is hidden none begins; one that is due begins as soon as it is shown again. With null it runs once, when the page
 * is shown. Answers how to stop it.
 */
export function poll(task: () => Promise<void>, everyMs: number | null): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isRunning = false;
  let isDue = true;
  let isStopped = false;

  const begin = (): void => {
    isDue = true;
    if (isStopped || isRunning || document.hidden) return;
    isRunning = true;
    isDue = false;
    void task().finally(() => {
      isRunning = false;
      if (everyMs !== null && !isStopped) timer = setTimeout(begin, everyMs);
    });
  };
  const onVisibility = (): void => {
    if (!document.hidden && isDue) begin();
  };
  document.addEventListener('visibilitychange', onVisibility);
  begin();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', onVisibility);
  };
}
