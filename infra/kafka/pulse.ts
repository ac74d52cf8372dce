import type { Admin } from 'kafkajs';

/** Whether the cluster answers, asked every few seconds. */
export interface Pulse {
  alive(): boolean;
  stop(): void;
}

const INTERVAL_MS = 2_000;
const ANSWER_MS_MAX = 3_000;

/** Watches the cluster. Starts alive, as a connection was just made. */
export function watchCluster(admin: Admin): Pulse {
  let alive = true;
  let asking = false;
  async function ask(): Promise<void> {
    if (asking) return;
    asking = true;
    const late = setTimeout(() => {
      alive = false;
    }, ANSWER_MS_MAX);
    try {
      await admin.describeCluster();
      alive = true;
    } catch {
      alive = false;
    } finally {
      clearTimeout(late);
      asking = false;
    }
  }
  const timer = setInterval(() => void ask(), INTERVAL_MS);
  return { alive: () => alive, stop: () => clearInterval(timer) };
}
