import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { post } from '../post.ts';

export interface SteadyOptions {
  url: string;
  path: string;
  key: string;
  bodies: readonly string[];
  requestsPerSecond: number;
  durationMs: number;
}

export interface SteadyResult {
  requests: number;
  requestsPerSecond: number;
  /** Statuses other than 200, counted. */
  failures: Record<string, number>;
  p50Ms: number;
  p99Ms: number;
}

const CONNECTIONS = 128;
const STEP_MS = 2;

/** Sends requests at a rate, whether earlier ones are answered or not; a time counts from when its request was due. */
export async function sendSteadily(options: SteadyOptions): Promise<SteadyResult> {
  const { bodies, durationMs, requestsPerSecond } = options;
  const pool = new Pool(options.url, { connections: CONNECTIONS, pipelining: 1 });
  const headers = { 'content-type': 'application/json', 'x-svc-key': options.key };
  const latencies: number[] = [];
  const failures: Record<string, number> = {};
  const open: Promise<void>[] = [];
  const startedMs = performance.now();

  async function sendOne(body: string, dueMs: number): Promise<void> {
    const { status } = await post(pool, options.path, headers, body);
    latencies.push(performance.now() - dueMs);
    if (status !== 200) failures[status] = (failures[status] ?? 0) + 1;
  }

  for (let passedMs = 0; passedMs < durationMs; passedMs = performance.now() - startedMs) {
    while (open.length < (requestsPerSecond * passedMs) / 1_000) {
      const dueMs = startedMs + (open.length * 1_000) / requestsPerSecond;
      open.push(sendOne(bodies[open.length % bodies.length] ?? '', dueMs));
    }
    await sleep(STEP_MS);
  }
  await Promise.all(open);
  const seconds = (performance.now() - startedMs) / 1_000;
  await pool.close();
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
  return { requests: open.length, requestsPerSecond: open.length / seconds, failures, p50Ms: at(0.5), p99Ms: at(0.99) };
}
