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
  const { waitingFor, away } = partsOf(answer.body);
  const ability = isReady ? 'ready' : `waits for ${waitingFor ?? 'something it does not name'}`;
  const state = away === null ? ability : `${ability}, gets no answer of ${away}`;
  const lag = lagRecords === null ? '' : `, ${lagRecords} ${lagRecords === 1 ? 'record' : 'records'} behind`;
  return { name, ready: isReady, says: `${state}${lag}`, lagRecords };
}

/** The parts that `/ready` names, each list in words; null where it names none. */
function partsOf(body: string): { waitingFor: string | null; away: string | null } {
  const words = (list: unknown): string | null => (Array.isArray(list) && list.length > 0 ? list.join(', ') : null);
  try {
    const { waiting_for, away } = JSON.parse(body) as { waiting_for?: unknown; away?: unknown };
    return { waitingFor: words(waiting_for), away: words(away) };
  } catch (error) {
    if (error instanceof SyntaxError) return { waitingFor: null, away: null };
    throw error;
  }
}

/** The sum over all partitions in the metrics' text; null where there is none. */
function lagOf(metrics: string): number | null {
  const samples = [...metrics.matchAll(/^svc_lag_records\{[^}]*\} (\S+)$/gm)].map(([, value]) => Number(value));
  return samples.length === 0 ? null : samples.reduce((sum, value) => sum + value, 0);
}
