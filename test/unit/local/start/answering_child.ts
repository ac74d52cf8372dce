// Run by supervisor.test.ts: says that it is ready, and stays until it is ended.
import type { ReadyMessage } from '#services/stage/runtime.ts';

process.on('message', () => undefined);
process.once('disconnect', () => process.exit(0));
process.send?.({ kind: 'ready', stage: 'child', metricsPort: 1, facts: {} } satisfies ReadyMessage);
