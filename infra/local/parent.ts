const POLL_MS = 500;

/**
 * Calls back once when the process that started this one is gone, even by SIGKILL (no signal arrives then).
 * Returns a function that stops watching. Does not keep the process alive.
 */
export function onParentGone(callback: () => void, pollMs = POLL_MS): () => void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, pollMs);
  timer.unref();
  return () => clearInterval(timer);
}
