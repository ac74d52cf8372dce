import type { Row } from '../row.ts';

/** The shortest that the service takes. */
const WATCHDOG_MS = 10_000;
const PRELOAD = `--import=${new URL('../world/hanging_client.ts', import.meta.url).href}`;

/**
 * The Kafka client of one process after the other stops answering while its heartbeats go on, so that nobody takes its
 * partitions over: each must end by itself, and its successor go on where it was.
 */
export function clientHangs(processes: readonly string[]): Row {
  return {
    name: 'client.hang',
    resends: true,
    requestsPerSecond: 20,
    async fault({ world, untilSent, ledger, events, say }) {
      await untilSent(events / 4);
      for (const process of processes) {
        await world.fleet.restart(process, { KAFKA_WATCHDOG_MS: String(WATCHDOG_MS), NODE_OPTIONS: PRELOAD });
        const deaths = world.fleet.deaths(process);
        say(`  the client of ${process} hangs`);
        world.fleet.signal(process, 'SIGUSR2');
        await world.fleet.died(process, deaths + 1);
        await world.fleet.allReady();
      }
      await untilSent(ledger.size() + events / 4);
    },
  };
}
