import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { ReadyMessage } from '#services/runtime.ts';
import { startMetaStandin } from './meta.ts';
import { startWebhookStandin } from './webhook.ts';

const USAGE = 'node services/standin/main.ts --meta-port PORT --webhook-port PORT --state-dir FOLDER\n';

function portOf(text: string | undefined): number {
  const port = Number(text);
  if (text === undefined || !Number.isInteger(port) || port < 0 || port > 65_535) {
    process.stderr.write(USAGE);
    process.exit(2);
  }
  return port;
}

/** Both stand-ins in one process, with their ledgers in a folder, so that a restart goes on counting. */
const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { 'meta-port': text, 'webhook-port': text, 'state-dir': text } });
const stateDir = values['state-dir'] ?? '.local/standin';
const meta = await startMetaStandin({
  port: portOf(values['meta-port']),
  ledgerPath: join(stateDir, 'meta.jsonl'),
});
const webhook = await startWebhookStandin({
  port: portOf(values['webhook-port']),
  ledgerPath: join(stateDir, 'webhook.jsonl'),
});

const stop = async (): Promise<void> => {
  await Promise.all([meta.stop(), webhook.stop()]);
  process.exit(0);
};
for (const signal of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.once(signal, () => void stop());

process.stdout.write(`${JSON.stringify({ ready: true, meta: meta.url, webhook: webhook.url })}\n`);
process.send?.({
  kind: 'ready',
  stage: 'standin',
  metricsPort: meta.port,
  facts: { meta: meta.url, webhook: webhook.url },
} satisfies ReadyMessage);
