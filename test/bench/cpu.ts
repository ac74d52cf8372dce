import { readFileSync } from 'node:fs';

/** Linux counts process times in hundredths of a second (proc(5), USER_HZ). */
const TICKS_PER_SECOND = 100;

/** CPU seconds (user and system) that a process has used. */
export function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
