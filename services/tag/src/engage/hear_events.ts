import type { EngageHost } from '../types.ts';

/** Hears the names of the events that the page itself tracks and that definitions fire: both go through the host. */
export function hearEvents(host: EngageHost, heard: (event: string) => void): void {
  let { enrich } = host;
  const { track } = host;
  host.track = (event, ...more) => {
    heard(event);
    track(event, ...more);
  };
  Object.defineProperty(host, 'enrich', {
    get: (): EngageHost['enrich'] => (event, properties) => {
      heard(event);
      return enrich?.(event, properties) ?? properties;
    },
    // The definitions may come later.
    set(given: EngageHost['enrich']) {
      enrich = given;
    },
  });
}
