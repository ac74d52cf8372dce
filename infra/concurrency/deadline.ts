/**
 * Calls `late` where it was not ended `ms` later. A process that was held up itself reads first what has arrived meanwhile.
 * Returns what ends it.
 */
export function deadline(ms: number, late: () => void): () => void {
  let isOver = false;
  const timer = setTimeout(() => {
    setImmediate(() => {
      if (!isOver) late();
    });
  }, ms);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
