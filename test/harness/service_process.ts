import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, mark, type ProcessMark } from './processes.ts';
import type { SharedService } from './shared_service.ts';
import { until } from './until.ts';

/** A process of the service as its own log says it is. */
export interface ServiceProcess extends ProcessMark {
  metricsUrl: string;
}

/** The process of a stage that is ready now, by the last `ready` line of its log; undefined while none is. */
function processOf(service: Pick<SharedService, 'dataDir'>, name: string): ServiceProcess | undefined {
  const lines = readFileSync(join(service.dataDir, 'log', `${name}.log`), 'utf8')
    .trimEnd()
    .split('\n');
  const line = lines.findLast((text) => text.includes('"msg":"ready"'));
  if (line === undefined) return undefined;
  const { pid, metricsPort } = JSON.parse(line) as { pid: number; metricsPort: number };
  const [found] = mark(pid);
  return found === undefined ? undefined : { ...found, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics` };
}

/** Waits until a stage has a ready process other than the given one. */
export async function readyProcess(
  service: Pick<SharedService, 'dataDir'>,
  name: string,
  before?: ProcessMark,
): Promise<ServiceProcess> {
  const found = await until(
    `${name} ready${before === undefined ? '' : ' again'}`,
    () => processOf(service, name),
    (seen) => seen !== undefined && isAlive(seen) && (seen.pid !== before?.pid || seen.start !== before.start),
  );
  if (found === undefined) throw new Error(`${name} is not ready`);
  return found;
}
