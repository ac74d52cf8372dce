import { readFileSync } from 'node:fs';

/** Index of `starttime` among the fields of /proc/<pid>/stat that follow the command name (proc(5): field 22). */
const START_FIELD = 19;

/** When a process started, in clock ticks since boot; with its pid that names it for ever. Undefined if it has ended. */
export function processStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[START_FIELD];
  } catch {
    return undefined;
  }
}

/** Whether the process that had this pid and start time still runs. */
export function isSameProcess(pid: number, start: string): boolean {
  return processStart(pid) === start;
}

/** The name of this process, by pid and start time. */
export function owner(): string {
  return `${process.pid}-${processStart(process.pid) ?? 'unknown'}`;
}
