import { api, OF_SCRIPT, type StartOptions, start } from './start.ts';

export type { StartOptions };

/**
 * Starts the tag; a second call does nothing. `base` is the edge's address with a slash at its end, and left out where the
 * module comes from there.
 */
export function init({ base, ...options }: Omit<StartOptions, 'base'> & { base?: string }): void {
  start({ ...options, base: base ?? import.meta.url.replace(OF_SCRIPT, '') });
}

export const { track, identify, alias, page, consent, reset, ready, status } = api;
