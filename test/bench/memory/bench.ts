import { readFileSync } from 'node:fs';
import { makeScratch } from '#test/harness/run/scratch.ts';
import { processesOf, withFlow } from '../flow/bench.ts';
import { sendAtRate } from '../load.ts';
import { benchOptions, openMetrics, report } from '../results.ts';
import { serverTraffic } from '../traffic.ts';

const EVENTS_PER_SECOND = 2_000;
const EVENTS_PER_REQUEST = 20;
const SAMPLE_MS = 10_000;

/**
 * Resident memory of each process of a service that takes events at a rate, every ten seconds for ten minutes (`--seconds 600 --rate
 * 2000`); and how much more it is in the last third than in the one before: near nothing where memory is bounded.
 */
export async function benchMemory(): Promise<void> {
  const { times, rate, json } = benchOptions('memory', { rounds: 1, seconds: 600 });
  const scratch = await makeScratch();
  try {
    await withFlow(`${scratch.path}/memory`, async ({ service, site }) => {
      const { note, all } = openMetrics();
      const processes = processesOf(service);
      const options = { url: service.ready.edge, traffic: serverTraffic(site.key, EVENTS_PER_REQUEST) };
      const samples = Math.ceil(times.runMs / SAMPLE_MS);
      for (let sample = 0; sample < samples; sample += 1) {
        await sendAtRate({ ...options, durationMs: SAMPLE_MS, eventsPerSecond: rate ?? EVENTS_PER_SECOND });
        for (const { name, pid } of processes) note(`RSS of ${name}`, 'MiB', residentMib(pid));
      }
      for (const { name, values } of all()) {
        const third = Math.ceil(samples / 3);
        const meanOf = (part: readonly number[]): number => part.reduce((sum, mib) => sum + mib, 0) / part.length;
        note(`${name}: growth`, 'MiB', meanOf(values.slice(-third)) - meanOf(values.slice(-2 * third, -third)));
      }
      report('memory', all(), json);
    });
  } finally {
    await scratch.clear();
  }
}

function residentMib(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1024;
}
