import { createLedger } from './acceptance_ledger.ts';
import { createScript } from './fault_script.ts';
import { type Platform, type Standin, type StandinOptions, startStandin } from './standin.ts';

/** A platform that a stand-in can be started for. Each file named after a destination exports one as `standin`. */
export interface PlatformStandin {
  /** How long the platform remembers an event's key; below 0 it never does, and every repetition counts. */
  keyWindowMs: number;
  platform(options: StandinOptions): Platform;
}

/** Starts a platform's stand-in on loopback. @throws the listen error, as EADDRINUSE. */
export function startPlatform(
  { keyWindowMs, platform }: PlatformStandin,
  options: StandinOptions = {},
): Promise<Standin> {
  return startStandin(
    platform(options),
    createLedger(options.ledgerPath ?? null, keyWindowMs),
    createScript(),
    options,
  );
}
