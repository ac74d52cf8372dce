import type { ArmedFailpoint } from './failpoint_config.ts';
import type { FailpointName } from './failpoint_names.ts';

let armed: ArmedFailpoint | null = null;
let passes = 0;

/** Arms what the environment of this process asks for; null for nothing. */
export function armFailpoint(wanted: ArmedFailpoint | null): void {
  armed = wanted;
}

/** A place where a test may have the process kill itself, or stall; nothing otherwise. */
export function failpoint(name: FailpointName): void {
  if (armed === null || name !== armed.name) return;
  passes++;
  if (passes === armed.pass) process.kill(process.pid, armed.signal);
}
