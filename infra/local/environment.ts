import { environment } from '#infra/config/config.ts';
import { toolsConfig } from '#infra/config/tools_config.ts';
import { owner } from './proc.ts';

/** Marks every process started for this one, so that the reaper also finds those that were never registered. */
const OWNER_VARIABLE = 'EVENT_INGEST_OWNER';

const PART_VARIABLES = ['PATH', 'HOME', 'USER', 'LANG', 'TZ', 'TMPDIR'];

/** What the environment of a supervisor's child process must hold; the child must be registered too. */
export function ownerEnvironment(): Record<string, string> {
  return { [OWNER_VARIABLE]: owner() };
}

/** The whole environment for tools (maven, pip, apt), which may need proxy settings. */
export function toolEnvironment(): NodeJS.ProcessEnv {
  return { ...environment(), ...ownerEnvironment() };
}

/** A small environment for parts, so that no other variable changes how a broker or a database is configured. */
export function partEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = PART_VARIABLES.flatMap((name) => {
    const value = environment()[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(kept), ...ownerEnvironment(), ...extra };
}

/** Folders on PATH, in order. */
export function searchPath(): string[] {
  return toolsConfig(environment())
    .path.split(':')
    .filter((folder) => folder !== '');
}

/** JAVA_HOME; null where it is not set. */
export function javaHome(): string | null {
  return toolsConfig(environment()).javaHome;
}
