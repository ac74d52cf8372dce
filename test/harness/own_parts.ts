import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { PartName } from '#services/local/parts/part.ts';
import { type LocalAddresses, type LocalParts, startParts } from '#services/local/parts/parts.ts';
import { discard } from '#test/harness/parts.ts';

/** Room for a first run, which fetches the parts. */
const START_MS = 240_000;
const STOP_MS = 60_000;

/** Given for a part that a file does not need, so that it is not started; nothing listens there. */
export const NOWHERE: LocalAddresses = {
  kafkaBrokers: '127.0.0.1:1',
  registryUrl: 'http://127.0.0.1:1',
  redisUrl: 'redis://127.0.0.1:1',
  clickhouseUrl: 'http://127.0.0.1:1/svc',
};

const ADDRESS_OF = {
  kafka: 'kafkaBrokers',
  registry: 'registryUrl',
  redis: 'redisUrl',
  clickhouse: 'clickhouseUrl',
} as const satisfies Record<PartName, keyof LocalAddresses>;

/** Starts these parts alone, and of Kafka so many brokers. */
export const startOwnParts = (dataDir: string, names: readonly PartName[], brokers?: number): Promise<LocalParts> =>
  startParts({
    dataDir,
    external: without(names),
    brokers,
    onProgress: () => undefined,
    onPartExit: () => undefined,
  });

/** Real parts for one file that kills, starves or reconfigures them; the answer gives them once the file's tests run. */
export function useOwnParts(...names: PartName[]): () => LocalParts {
  let local: LocalParts | undefined;
  let dataDir = '';
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'parts-'));
    local = await startOwnParts(dataDir, names);
  }, START_MS);
  afterAll(async () => {
    if (local !== undefined) await discard(local);
    rmSync(dataDir, { recursive: true, force: true });
  }, STOP_MS);
  return () => {
    if (local === undefined) throw new Error('the parts run only inside tests');
    return local;
  };
}

function without(names: readonly PartName[]): Partial<LocalAddresses> {
  const unused = (Object.keys(ADDRESS_OF) as PartName[]).filter((name) => !names.includes(name));
  return Object.fromEntries(unused.map((name) => [ADDRESS_OF[name], NOWHERE[ADDRESS_OF[name]]]));
}
