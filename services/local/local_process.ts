// What the small servers beside the service have in common: words of their command line, readiness, and their end.

import { parseArgs } from 'node:util';
import type { ReadyMessage } from '#services/stage/runtime.ts';

/** The words of the command line by their names; ends the process with the usage where it cannot be read. */
export function readWords(names: readonly string[], refuse: () => never): Record<string, string | undefined> {
  try {
    return parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])) }).values;
  } catch {
    return refuse();
  }
}

export function refusal(usage: string): () => never {
  return () => {
    process.stderr.write(usage);
    process.exit(2);
  };
}

/** Tells whoever started the process that it is ready, and stops when that is gone or says so. */
export function serve(stage: string, facts: Record<string, string>, stop: () => Promise<unknown>): void {
  const end = async (): Promise<void> => {
    await stop();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.once(signal, () => void end());
  process.send?.({ kind: 'ready', stage, metricsPort: null, facts } satisfies ReadyMessage);
}
