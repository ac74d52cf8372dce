import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { createControlClient, httpTransport } from '#services/control_api/client.ts';
import { renderNumber } from '#services/stage/terminal.ts';
import { coloursWanted, DemoError, type DemoOptions, readOptions, readReady, USAGE } from './config.ts';
import { runDemo } from './run_demo.ts';
import { createWorld, type World } from './world/demo_world.ts';

function introduce({ visitors, seed, run }: DemoOptions, { totals }: World['ledger']): string {
  const { sent, requests, duplicates, filtered } = totals;
  return [
    `A day of a shop and a travel site: ${renderNumber(visitors)} visitors, seed ${seed}, run ${run}`,
    `${renderNumber(sent)} events in ${renderNumber(requests)} requests, ${renderNumber(duplicates)} of them duplicates, ${renderNumber(filtered)} by bots`,
    '\n',
  ].join('\n');
}

async function demo(options: DemoOptions): Promise<number> {
  const ready = readReady(options.ready);
  const { shop, travel } = ready.demo;
  const blockedIps = { shop: shop.blockedIp, travel: travel.blockedIp };
  const world = createWorld({ ...options, endsAt: Date.now(), blockedIps });
  const output = process.stdout;
  output.write(introduce(options, world.ledger));
  const token = readFileSync(ready.adminTokenFile, 'utf8').trim();
  const client = createControlClient(httpTransport(ready.control), token);
  const coloured = coloursWanted(output.isTTY);
  return runDemo(world, { ready, client, output, coloured, now: Date.now, wait, random: Math.random }, options);
}

/** 0 when every count is equal, 1 when some differ, 2 when the demo could not be run. */
async function main(argv: readonly string[]): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(USAGE);
    return 0;
  }
  try {
    return (await demo(readOptions(argv, Date.now()))) === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof DemoError)) throw error;
    const { code, message } = error;
    process.stderr.write(code === 'usage' ? `${message}\n\n${USAGE}` : `${message}\n`);
    return 2;
  }
}

process.exitCode = await main(process.argv.slice(2));
