import { parseArgs } from 'node:util';
import { say } from '../results.ts';
import { type Server, withWarehouse } from '../warehouse_alone.ts';
import { fillTo } from './fill.ts';
import { addSteadily } from './links.ts';
import { allocatedMib, measureReload } from './reload.ts';

/**
 * What loading the dictionaries of merged persons costs at some sizes, then how long links take to show that come at the rate of
 * a million in an hour, at the last of these sizes. `--millions 1,10,50 --seconds 3600` says the sizes and how long.
 */
export async function benchPersons(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      millions: { type: 'string', default: '1,10,50' },
      seconds: { type: 'string', default: '3600' },
    },
  });
  const sizes = values.millions.split(',').map(Number);
  const seconds = Number(values.seconds);
  if ([...sizes, seconds].some((number) => !(number >= 0))) throw new Error('--millions 1,10,50 --seconds 3600');
  await withWarehouse('persons', async (server) => {
    say(
      `${'merged persons'.padEnd(20)}${['load s', 'CPU s', 'bytes each', 'MiB', 'MiB at peak'].map(padded).join('')}`,
    );
    const idleMib = await allocatedMib(server.warehouse);
    for (const millions of sizes) await measureSize(server, millions, idleMib);
    if (seconds > 0) await addSteadily(server, seconds, say);
  });
}

async function measureSize(server: Server, millions: number, idleMib: number): Promise<void> {
  const persons = millions * 1e6;
  await fillTo(server.warehouse, persons);
  // The second time the first one's dictionary is in memory beside it.
  for (const time of ['first', 'again']) {
    const name = `${millions} million, ${time}`.padEnd(20);
    try {
      const { tookSeconds, cpuSeconds, mib, peakMib } = await measureReload(server, idleMib);
      const each = ((mib * 1024 ** 2) / persons).toFixed(0);
      const figures = [tookSeconds.toFixed(1), cpuSeconds.toFixed(1), each, mib.toFixed(0), peakMib.toFixed(0)];
      say(`${name}${figures.map(padded).join('')}`);
    } catch (error) {
      say(`${name}not loaded: ${String(error)}`);
    }
  }
}

const padded = (text: string): string => text.padStart(13);
