import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '#infra/concurrency/monotonic_clock.ts';
import { recoveryOf } from '#infra/errors.ts';
import type { SchemaName } from '#schemas/avro.ts';
import type { Registry } from './schema_registry.ts';

/** Requests to the registry at a time. */
const REGISTRATIONS_MAX = 8;
/** A registry that has just started on a busy machine answers its first requests late, or not in time at all. */
const WAITED_MS = 60_000;
const PAUSE_MS = 500;

interface Waiting {
  nowMs(): number;
  pause(ms: number): Promise<unknown>;
}

/**
 * Registers the schema of each topic, and asks again for up to a minute where the registry does not answer.
 *
 * @throws RegistryError
 */
export async function registerSchemas(
  registry: Pick<Registry, 'register'>,
  topics: readonly { name: string; schema: SchemaName }[],
  { nowMs, pause }: Waiting = { nowMs: monotonicMs, pause: sleep },
): Promise<void> {
  const untilMs = nowMs() + WAITED_MS;
  const left = topics.values();
  const register = async (topic: string, schema: SchemaName): Promise<void> => {
    for (;;) {
      try {
        await registry.register(topic, schema);
        return;
      } catch (error) {
        if (recoveryOf(error) !== 'wait' || nowMs() >= untilMs) throw error;
      }
      await pause(PAUSE_MS);
    }
  };
  await Promise.all(
    Array.from({ length: REGISTRATIONS_MAX }, async () => {
      for (const { name, schema } of left) await register(name, schema);
    }),
  );
}
