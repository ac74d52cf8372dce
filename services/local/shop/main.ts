import { parseArgs } from 'node:util';
import type { ReadyMessage } from '#services/stage/runtime.ts';
import { startShop } from './shop_server.ts';

const USAGE = 'node services/local/shop/main.ts --port PORT --edge URL --key BROWSER_KEY\n';

function refuse(): never {
  process.stderr.write(USAGE);
  process.exit(2);
}

function readWords(): { port: number; edge: string; key: string } {
  const text = { type: 'string' as const };
  try {
    const { port, edge, key } = parseArgs({ options: { port: text, edge: text, key: text } }).values;
    if (port === undefined || edge === undefined || key === undefined || !/^\d{1,5}$/.test(port)) return refuse();
    return { port: Number(port), edge: new URL(edge).origin, key };
  } catch {
    return refuse();
  }
}

const { port, edge, key } = readWords();
const shop = await startShop(port, { edge, key });
const stop = async (): Promise<void> => {
  await shop.stop();
  process.exit(0);
};
for (const signal of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.once(signal, () => void stop());

process.send?.({ kind: 'ready', stage: 'shop', metricsPort: null, facts: { url: shop.url } } satisfies ReadyMessage);
