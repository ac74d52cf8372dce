import { readMetrics, total } from '#test/harness/metrics.ts';
import { until } from '#test/harness/until.ts';
import type { Fleet } from '../world/fleet.ts';

const SETTLE_MS = 5_000;
/** These take no events. */
const OUTSIDE = new Set(['control', 'standin']);

interface Balance {
  name: string;
  in: number;
  out: number;
}

/**
 * Adds up every stage's counters: in = passed + dropped + diverted + dead. They are of the process that lives now and
 * began at zero with it; what a killed one had counted is gone, and that nothing is missing then is seen from the topics.
 */
export async function conservationProblems(fleet: Fleet): Promise<string[]> {
  const unbalanced = async (): Promise<Balance[]> =>
    (await Promise.all(fleet.names().map((name) => balanceOf(fleet, name)))).flat().filter((one) => one.in !== one.out);
  try {
    await until('counters add up', unbalanced, (found) => found.length === 0, { timeoutMs: SETTLE_MS });
    return [];
  } catch {
    const found = await unbalanced();
    return found.map((one) => `conservation: ${one.name} took in ${one.in} and gave account of ${one.out}`);
  }
}

async function balanceOf(fleet: Fleet, name: string): Promise<Balance[]> {
  const url = OUTSIDE.has(name) ? null : fleet.metricsUrl(name);
  if (url === null) return [];
  const samples = await readMetrics(url);
  const count = (kind: string): number => total(samples, `svc_events_${kind}_total`);
  return [{ name, in: count('in'), out: count('passed') + count('dropped') + count('diverted') + count('dead') }];
}
