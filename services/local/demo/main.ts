import { setTimeout as wait } from 'node:timers/promises';
import { number, styleFor } from '#services/terminal_style.ts';
import { type DemoOptions, readOptions, USAGE, UsageError } from './args.ts';
import { coloursWanted } from './config.ts';
import { ReadyError, readReady } from './ready.ts';
import { runDemo } from './run.ts';
import { EdgeAwayError } from './send.ts';
import { UnreadableError } from './wait.ts';
import { createWorld, type World } from './world/world.ts';

function introduce(options: DemoOptions, { ledger }: World): string {
  const { totals } = ledger;
  return [
    `A day of a shop and a travel site: ${number(options.visitors)} visitors, seed ${options.seed}, run ${options.run}`,
    `${number(totals.sent)} events in ${number(totals.requests)} requests, ${number(totals.duplicates)} of them duplicates, ${number(totals.filtered)} by bots`,
    '',
    '',
  ].join('\n');
}

async function demo(argv: readonly string[]): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(USAGE);
    return 0;
  }
  const options = readOptions(argv, Date.now());
  const ready = await readReady(options.ready);
  const { shop, travel } = ready.demo;
  const blockedIps = {
    ...(shop.blockedIp === undefined ? {} : { shop: shop.blockedIp }),
    ...(travel.blockedIp === undefined ? {} : { travel: travel.blockedIp }),
  };
  const world = createWorld({ ...options, endsAt: Date.now(), blockedIps });
  process.stdout.write(introduce(options, world));
  const style = styleFor(coloursWanted(process.stdout.isTTY));
  const around = { ready, output: process.stdout, style, now: Date.now, wait, random: Math.random };
  return runDemo(world, around, options);
}

/** Failures that the reader of the terminal can do something about; all others keep their stack. */
const EXPLAINED = [ReadyError, EdgeAwayError, UnreadableError];

/** 0 when every count is equal, 1 when some differ, 2 when the demo could not be run. */
async function main(): Promise<number> {
  try {
    return (await demo(process.argv.slice(2))) === 0 ? 0 : 1;
  } catch (error) {
    if (error instanceof UsageError) process.stderr.write(`${error.message}\n\n${USAGE}`);
    else if (error instanceof Error && EXPLAINED.some((kind) => error instanceof kind))
      process.stderr.write(`${error.message}\n`);
    else throw error;
    return 2;
  }
}

process.exitCode = await main();
