// A process of its own: `clickhouse local --query SQL` by the chdb package, whose library would stay in the importer's memory.

import { once } from 'node:events';
import { FINISHED, NOT_INSTALLED } from './parquet.ts';

/** Of Node, and of chdb where it has no build for this platform. */
const MISSING = new Set(['ERR_MODULE_NOT_FOUND', 'CHDB_PLATFORM']);

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && MISSING.has(String(error.code));

try {
  const { Session } = await import('chdb');
  for await (const chunk of new Session().queryStream(process.argv.at(-1) ?? '')) {
    if (!process.stdout.write(chunk.raw())) await once(process.stdout, 'drain');
  }
  // Writes to pipes are over when they return. The library's own clean-up at exit may crash while its threads run.
  process.stderr.write(FINISHED);
  process.kill(process.pid, 'SIGKILL');
} catch (error) {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = isMissing(error) ? NOT_INSTALLED : 1;
}
