import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#infra/log/logger.ts';
import { type Registry, RegistryError } from './schema_registry.ts';

const RETRY_MS = 1_000;

/** A registry that a process waits for when it starts: one that does not answer is no reason to end. */
export function createPatientRegistry(registry: Registry, logger: Pick<Logger, 'warn'>, retryMs = RETRY_MS): Registry {
  return {
    ...registry,
    async idOf(topic, schema) {
      for (;;) {
        try {
          return await registry.idOf(topic, schema);
        } catch (error) {
          if (!(error instanceof RegistryError) || error.code !== 'registry_unavailable') throw error;
          logger.warn({ err: error, topic }, 'the registry does not answer, trying again');
          await sleep(retryMs);
        }
      }
    },
  };
}
