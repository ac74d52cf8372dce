/** The longest turn of this thread while something is done, in milliseconds of its own CPU: others' work does not count. */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = process.threadCpuUsage();
  let isDone = false;
  const look = (): void => {
    const now = process.threadCpuUsage();
    longest = Math.max(longest, now.user + now.system - last.user - last.system);
    last = now;
    if (!isDone) setImmediate(look);
  };
  setImmediate(look);
  await work();
  // The turn that the work ended in is looked at as well.
  await new Promise(setImmediate);
  isDone = true;
  return longest / 1000;
}
