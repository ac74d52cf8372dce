// What a registry says of the subjects of topics, for `svc doctor`.
import { subjectOf } from './schema_registry.ts';

export interface RegistryFacts {
  /** By topic the compatibility of its subject; null: it has none of its own. */
  subjects: ReadonlyMap<string, string | null>;
  /** Topics without a subject. */
  missing: readonly string[];
  /** By how many milliseconds the clock of this host is ahead, to the second; null where the registry does not say. */
  aheadMs: number | null;
}

const TIMEOUT_MS = 5_000;
/** Requests at a time. */
const WORKERS = 8;

/** @throws where it does not answer. */
export async function inspectRegistry(
  url: string,
  topics: readonly string[],
  nowMs: () => number,
): Promise<RegistryFacts> {
  const ask = async (path: string): Promise<{ status: number; date: string | null; body: unknown }> => {
    const response = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const text = await response.text();
    if (response.status !== 200 && response.status !== 404) throw new Error(`the registry answers ${response.status}`);
    return { status: response.status, date: response.headers.get('date'), body: JSON.parse(text) as unknown };
  };
  const { date, body } = await ask('/subjects');
  const aheadMs = date === null ? null : nowMs() - Date.parse(date);
  const there = new Set(Array.isArray(body) ? body.map(String) : []);
  const subjects = new Map<string, string | null>();
  const missing = topics.filter((topic) => !there.has(subjectOf(topic)));
  const left = topics.filter((topic) => there.has(subjectOf(topic))).values();
  await Promise.all(
    Array.from({ length: WORKERS }, async () => {
      for (const topic of left) {
        const config = await ask(`/config/${encodeURIComponent(subjectOf(topic))}`);
        const { compatibilityLevel } = config.body as { compatibilityLevel?: string };
        subjects.set(topic, config.status === 404 ? null : (compatibilityLevel ?? null));
      }
    }),
  );
  return { subjects, missing, aheadMs };
}
