import type { World } from './fault_world.ts';

/** Puts everything back that a fault may have left broken: stalled and stopped processes, parts, the proxy. */
export async function heal(world: World): Promise<void> {
  world.proxy.set({ kind: 'pass' });
  world.disk?.free();
  for (const part of [...(world.brokers ?? []), ...Object.values(world.parts.parts)]) {
    part.kill('SIGCONT');
    await part.start();
  }
  for (const name of world.fleet.names()) world.fleet.signal(name, 'SIGCONT');
  await world.fleet.allReady();
}
