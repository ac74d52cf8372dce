import type { Row } from '../row.ts';

/** kill -9 of a process while events flow. */
export function killed(process: string): Row {
  return {
    name: `killed.${process}`,
    ...(process.startsWith('delivery') ? { resends: true as const } : {}),
    async fault({ world, untilSent, events }) {
      await untilSent(events / 4);
      world.fleet.signal(process, 'SIGKILL');
      await untilSent(events / 2);
      await world.fleet.allReady();
    },
  };
}
