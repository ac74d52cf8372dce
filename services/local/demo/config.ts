import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { environment } from '#infra/config/environment.ts';
import { toolsConfig } from '#infra/config/local_config.ts';
import type { ReadyFile } from '../start/screen.ts';

export type DemoOptions = ReturnType<typeof readOptions>;

/** About 20,000 events. */
const VISITORS_DEFAULT = 1450;
const VISITORS_MAX = 100_000;

export const USAGE = `npm run demo -- [options]

  --visitors n      web visitors on both sites; each makes about 14 events (${VISITORS_DEFAULT})
  --seed n          draws another day (1)
  --run text        names the run; the same seed and run give the same ids (from the clock)
  --concurrency n   requests in flight (16)
  --timeout s       seconds without progress before giving up (90)
  --ready path      where npm start has written the addresses (.local/ready.json)
`;

/** A failure that the reader of the terminal can do something about. */
export class DemoError extends Error {
  readonly code: 'usage' | 'not_started' | 'edge_away' | 'unreadable' | 'standin_unreadable';

  constructor(code: DemoError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

function whole(name: string, text: string, low: number, high: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= low && value <= high) return value;
  throw new DemoError('usage', `--${name} must be a whole number from ${low} to ${high}`);
}

function readWords(args: string[]) {
  const text = { type: 'string' } as const;
  try {
    const options = { visitors: text, seed: text, run: text, concurrency: text, timeout: text, ready: text };
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new DemoError('usage', error instanceof Error ? error.message : 'arguments cannot be read');
  }
}

/**
 * @param nowMs names the run when no name is given
 * @throws DemoError
 */
export function readOptions(argv: readonly string[], nowMs: number) {
  const values = readWords([...argv]);
  return {
    visitors: whole('visitors', values.visitors ?? String(VISITORS_DEFAULT), 2, VISITORS_MAX),
    seed: whole('seed', values.seed ?? '1', 0, Number.MAX_SAFE_INTEGER),
    run: values.run ?? nowMs.toString(36),
    concurrency: whole('concurrency', values.concurrency ?? '16', 1, 256),
    /** How long the pipelines may stand still before the demo stops waiting for them. */
    timeoutMs: whole('timeout', values.timeout ?? '90', 1, 3600) * 1000,
    ready: values.ready ?? '.local/ready.json',
  };
}

/** Where the running service is. @throws DemoError */
export function readReady(path: string): ReadyFile {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ReadyFile;
  } catch {
    throw new DemoError('not_started', `${path} cannot be read: run \`npm start\` first and wait for READY`);
  }
}

/** Whether output may be coloured: on a terminal, unless NO_COLOR is set to anything (no-color.org). */
export function coloursWanted(isTerminal: boolean): boolean {
  return isTerminal && toolsConfig(environment()).noColor === null;
}
