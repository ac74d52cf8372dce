import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { best, PARSE, runAll } from '#test/bench/edge/bench.ts';
import { measureFlow, withFlow } from '#test/bench/flow/bench.ts';
import { compare } from './recorded.ts';

const EVENTS_PER_SECOND = 4_000;
const TIMES = { warmMs: 10_000, runMs: 20_000 };
const FLOOR = { rounds: 2, warmMs: 3_000, runMs: 3_000 };
/** What an event costs; the others do little, or what they do depends on the time and not on the events. */
const PROCESSES = ['edge', 'dedup', 'identity', 'quota', 'warehouse', 'kafka', 'clickhouse'];

test('each process takes as much CPU for an event on its way to a row as recorded', {
  timeout: 400_000,
}, async () => {
  const floor = best(await runAll([PARSE], FLOOR), PARSE.name);
  const dataDir = mkdtempSync(join(tmpdir(), 'flow-'));
  await withFlow(dataDir, async (flow) => {
    const { sent, cpu } = await measureFlow(flow, EVENTS_PER_SECOND, TIMES);
    expect(sent.failures).toEqual({});
    const costs = PROCESSES.map((name) => {
      const seconds = cpu.find((one) => one.name === name)?.seconds ?? Number.NaN;
      return [name, ((seconds / sent.accepted) * 1e6) / floor] as const;
    });
    const all = costs.reduce((sum, [, cost]) => sum + cost, 0);
    const inFloors = [...costs, ['all', all] as const].map(([name, cost]) => [
      `CPU of ${name}, in parsed events`,
      cost,
    ]);
    compare('flow', Object.fromEntries(inFloors));
  });
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
});
