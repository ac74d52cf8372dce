import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#infra/log/logger.ts';
import { type Registry, RegistryError } from './schema_registry.ts';

const RETRY_MS = 1_000;
/** A registry that has just started does not know what it has yet to load: for so many tries that is waited for as well. */
const LOADING_TRIES = 60;

/** A registry that a process waits for when it starts: one that does not answer is no reason to end. */
export function createPatientRegistry(registry: Registry, logger: Pick<Logger, 'warn'>, retryMs = RETRY_MS): Registry {
  // It may know one schema before it knows the next.
  let loadingTries = 0;
  return {
    ...registry,
    async idOf(topic, schema) {
      for (let tries = 0; ; tries++) {
        try {
          return await registry.idOf(topic, schema);
        } catch (error) {
          if (!(error instanceof RegistryError)) throw error;
          if (error.code === 'registry_unavailable') loadingTries = LOADING_TRIES;
          else if (error.code !== 'schema_unregistered' || loadingTries-- <= 0) throw error;
          if (tries === 0) logger.warn({ err: error, topic }, 'the registry does not answer, trying again');
          await sleep(retryMs);
        }
      }
    },
  };
}
