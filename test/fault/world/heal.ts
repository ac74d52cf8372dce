import { until } from '#test/harness/until.ts';
import type { World } from './fault_world.ts';
import { areCoordinated } from './groups.ts';
import { partsIn } from './parts_in.ts';

/** A coordinator is loaded within this, on a busy machine too. */
const COORDINATED_MS = 30_000;

/** Puts everything back that a fault may have left broken: stalled and stopped processes, parts, the proxy. */
export async function heal(world: World, say: (line: string) => void): Promise<void> {
  world.proxy.set({ kind: 'pass' });
  world.special.disk?.free();
  for (const { part } of partsIn(world)) {
    part.kill('SIGCONT');
    await part.start();
  }
  await world.special.redis?.whole();
  await healCoordinators(world, say);
  for (const name of world.fleet.names()) world.fleet.signal(name, 'SIGCONT');
  await world.fleet.allReady();
}

/**
 * Restarts a broker that does not answer for a group any more, as an operator would. Killed and stalled while it loaded
 * its coordinators, Kafka 4.2.1 was seen once to load one again and again for ever: `The state machine of the coordinator
 * __consumer_offsets-3 is out of sync with the underlying log`.
 */
async function healCoordinators(world: World, say: (line: string) => void): Promise<void> {
  const { kafka } = world.parts.parts;
  if (kafka === undefined || (await areCoordinated(world, world.fleet.names(), COORDINATED_MS))) return;
  say('  the broker does not answer for a group: restarted');
  kafka.kill('SIGKILL');
  await until(
    'the broker is gone',
    () => kafka.pid,
    (pid) => pid === undefined,
  );
  await kafka.start();
}
