import { environment } from '#infra/config/config.ts';
import { failpointConfig } from './failpoint_config.ts';
import type { FailpointName } from './failpoint_names.ts';

const armed = failpointConfig(environment());
let passes = 0;

/** A place where a test may have the process kill itself, or stall; nothing otherwise. */
export const failpoint: (name: FailpointName) => void = armed === null ? () => undefined : signalAtPass;

function signalAtPass(name: FailpointName): void {
  if (armed === null || name !== armed.name) return;
  passes++;
  if (passes === armed.pass) process.kill(process.pid, armed.signal);
}
