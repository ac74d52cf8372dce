/** What an address answers; null when there was no answer in time. */
export type Fetched = (url: string) => Promise<{ status: number; body: string } | null>;

/** How one process does, by what it answers itself. */
export interface ProcessState {
  name: string;
  ready: boolean;
  says: string;
  /** Offsets it has still to take of what it consumes; null where it does not say. */
  lagRecords: number | null;
}

/** Asks every process of ready.json for `/ready` and for its lag, beside each other. */
export async function processStates(ready: Record<string, unknown>, fetched: Fetched): Promise<ProcessState[]> {
  const processes = Object.entries((ready['processes'] ?? {}) as Record<string, { metrics?: unknown } | null>);
  const asked = processes.flatMap(([name, facts]) => {
    const metrics = facts?.metrics;
    return typeof metrics === 'string' ? [stateOf(name, metrics, fetched)] : [];
  });
  return Promise.all(asked);
}

async function stateOf(name: string, metricsUrl: string, fetched: Fetched): Promise<ProcessState> {
  const [answer, metrics] = await Promise.all([fetched(new URL('/ready', metricsUrl).href), fetched(metricsUrl)]);
  if (answer === null) return { name, ready: false, says: 'does not answer', lagRecords: null };
  const isReady = answer.status === 200;
  const lagRecords = metrics?.status === 200 ? lagOf(metrics.body) : null;
  const state = isReady ? 'ready' : `waits for ${waitingFor(answer.body)}`;
  const lag = lagRecords === null ? '' : `, ${lagRecords} ${lagRecords === 1 ? 'record' : 'records'} behind`;
  return { name, ready: isReady, says: `${state}${lag}`, lagRecords };
}

function waitingFor(body: string): string {
  try {
    const { waiting_for } = JSON.parse(body) as { waiting_for?: unknown };
    return Array.isArray(waiting_for) ? waiting_for.join(', ') : 'something it does not name';
  } catch (error) {
    if (error instanceof SyntaxError) return 'something it does not name';
    throw error;
  }
}

/** The sum over all partitions in the metrics' text; null where there is none. */
function lagOf(metrics: string): number | null {
  const samples = [...metrics.matchAll(/^svc_lag_records\{[^}]*\} (\S+)$/gm)].map(([, value]) => Number(value));
  return samples.length === 0 ? null : samples.reduce((sum, value) => sum + value, 0);
}
