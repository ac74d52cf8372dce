import { Pool } from 'undici';

export interface LoadOptions {
  url: string;
  path: string;
  key: string;
  bodies: readonly string[];
  /** Requests open at a time. */
  concurrency: number;
  durationMs: number;
}

export interface LoadResult {
  requests: number;
  /** Statuses other than 200, counted. */
  failures: Record<string, number>;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
}

/** Keeps a number of requests open for a time, each answered before the next of its slot is sent. */
export async function load(options: LoadOptions): Promise<LoadResult> {
  const pool = new Pool(options.url, { connections: options.concurrency, pipelining: 1 });
  const latencies: number[] = [];
  const failures: Record<string, number> = {};
  const startedMs = performance.now();
  const endMs = startedMs + options.durationMs;
  let next = 0;

  async function slot(): Promise<void> {
    while (performance.now() < endMs) {
      const body = options.bodies[next++ % options.bodies.length] as string;
      const sentMs = performance.now();
      const { statusCode, body: answer } = await pool.request({
        path: options.path,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-svc-key': options.key },
        body,
      });
      await answer.dump();
      latencies.push(performance.now() - sentMs);
      if (statusCode !== 200) failures[statusCode] = (failures[statusCode] ?? 0) + 1;
    }
  }

  await Promise.all(Array.from({ length: options.concurrency }, slot));
  const seconds = (performance.now() - startedMs) / 1000;
  await pool.close();
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
  return { requests: latencies.length, failures, seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}
