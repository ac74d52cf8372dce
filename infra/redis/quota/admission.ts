// Rate limits and quota reservations that all edges share.
import type { Admission, AdmissionRequest, LimitKind, RateLimits, RateVerdict } from '#pipelines/quota/limits.ts';
import { createScript, deadlineExceeded, gather, within } from '../client.ts';
import type { Redis } from '../connection.ts';

/** Rate limits and reservations that all edges share. Everything throws RedisUnavailableError. */
export type RateLimitStore = ReturnType<typeof createAdmissionStore>;

export interface AdmissionStoreOptions {
  limits: RateLimits;
  /** The keys of one script must share a hash slot, so a request becomes parallel calls. */
  cluster: boolean;
  /** Checkpoints that Redis must have; with fewer it has lost how much is used. */
  checkpointsWanted: number;
  deadlineMs: number;
}

/**
 * A request waits up to 15 ms for its produce request anyway; a call costs an edge as much as ten requests in one. Every 5 ms instead take
 * half as much of Redis again, and a tenth of the edge at 20,000 events/s, for 3 ms of p99.
 */
const CALL_INTERVAL_MS = 8;

/**
 * One call is under way at a time, and requests that come meanwhile share the next one: at rest a request causes a call at
 * once, under load many share its cost. In a cluster that goes for each address, key and account: a request is a call and then two
 * parallel ones, and one that the key's limit refuses counts for its address.
 */
export function createAdmissionStore(redis: Redis, options: AdmissionStoreOptions) {
  const admitScript = createScript(redis, 'quota/admit.lua');
  const releaseScript = createScript(redis, 'quota/release.lua');
  const leaseScript = createScript(redis, 'quota/lease.lua');
  const ask = gather((_, requests: readonly AdmissionRequest[]) => call(requests), {
    // The edge has only so many requests open.
    questionsMax: Number.POSITIVE_INFINITY,
    waitingMax: Number.POSITIVE_INFINITY,
    waitMsMax: options.deadlineMs,
    intervalMs: CALL_INTERVAL_MS,
    deadlineExceeded,
  });

  async function call(requests: readonly AdmissionRequest[]): Promise<Admission[]> {
    const { keys, args } = scriptInput(requests, options);
    const answer = await within(options.deadlineMs, admitScript.run(keys, args));
    return readAnswers(answer as number[], requests.length);
  }

  async function release(accountId: string, month: string, lease: string, events: number): Promise<void> {
    await within(options.deadlineMs, releaseScript.run([quotaKey(accountId, month)], [lease, events]));
  }

  async function admitInParts(request: AdmissionRequest): Promise<Admission> {
    const { address, key, accountId, lease } = request;
    // Those of one key share calls as all of one server do.
    const askFor = async (name: string | null, part: Partial<AdmissionRequest>): Promise<Admission> =>
      name === null ? UNLIMITED : ask(name, { ...request, ...part });
    // First, as what is refused here must not count for the key, which is everybody's.
    const countsAddress = options.limits.perIp > 0 && address !== null;
    const byAddress = await askFor(countsAddress ? `address ${address}` : null, { key: null, lease: '' });
    if (!byAddress.verdict.ok) return { verdict: byAddress.verdict, granted: 0, known: 0 };
    const [byKey, month] = await Promise.all([
      askFor(key === null ? null : `key ${key}`, { address: null, lease: '' }),
      askFor(lease === '' ? null : `account ${accountId}`, { address: null, key: null }),
    ]);
    if (byKey.verdict.ok) return { ...month, verdict: nearer(byAddress, byKey) };
    if (month.granted !== null && month.granted > 0) {
      await release(request.accountId, request.month, request.lease, month.granted);
    }
    return { verdict: byKey.verdict, granted: 0, known: 0 };
  }

  return {
    /** Checks a request against both rate limits and reserves its events of the month, in one round trip. */
    admit: (request: AdmissionRequest): Promise<Admission> =>
      options.cluster ? admitInParts(request) : ask('', request),
    /** Releases what was reserved and certainly not produced. */
    release,
    /** Renews leases; answers how many partitions have a checkpoint. */
    renew: async (leases: readonly string[], leaseMs: number): Promise<number> =>
      (await within(
        options.deadlineMs,
        leaseScript.run([LEASES_KEY, CHECKPOINTS_KEY], [leaseMs, ...leases]),
      )) as number,
  };
}

/** Of what is not counted. */
const UNLIMITED: Admission = { verdict: { ok: true, rate: null }, granted: null, known: 0 };

function nearer(a: Admission, b: Admission): RateVerdict {
  const rates = [a.verdict.rate, b.verdict.rate].filter((rate) => rate !== null);
  return { ok: true, rate: rates.sort((one, other) => one.remaining - other.remaining)[0] ?? null };
}

function scriptInput(
  requests: readonly AdmissionRequest[],
  { limits, cluster, checkpointsWanted }: AdmissionStoreOptions,
): { keys: string[]; args: (string | number)[] } {
  const indexes = new Map<string, number>();
  const indexOf = (key: string): number => {
    const found = indexes.get(key) ?? indexes.size + 1;
    indexes.set(key, found);
    return found;
  };
  // In a cluster the checkpoints lie on another node: the renewal of the leases looks at them.
  const args: (string | number)[] = [limits.windowMs, cluster ? 0 : checkpointsWanted, CHECKPOINTS_KEY, MONTH_TTL_S];
  for (const { address, key, keyLimit, requests: countsAs, accountId, month, monthLimit, wanted, lease } of requests) {
    const perKey = keyLimit ?? limits.perKey;
    args.push(
      address === null || limits.perIp === 0 ? 0 : indexOf(`rate:{a:${address}}`),
      key === null || perKey === 0 ? 0 : indexOf(`rate:{k:${key}}`),
      lease === '' ? 0 : indexOf(quotaKey(accountId, month)),
      limits.perIp,
      perKey,
      countsAs,
      monthLimit,
      wanted,
      lease,
    );
  }
  return { keys: [...indexes.keys()], args };
}

const KINDS: Readonly<Record<number, LimitKind>> = { 1: 'ip', 2: 'key' };
const NUMBERS_EACH = 7;

function readAnswers(flat: readonly number[], count: number): Admission[] {
  return Array.from({ length: count }, (_, index) => {
    const at = index * NUMBERS_EACH;
    const numbers = flat.slice(at, at + NUMBERS_EACH);
    const [code = 0, waitMs = 0, limit = 0, remaining = 0, resetMs = 0, granted = 0, known = 0] = numbers;
    const kind = KINDS[code];
    const rate = { limit, remaining, resetMs };
    if (kind !== undefined) return { verdict: { ok: false, kind, waitMs, rate }, granted: 0, known: 0 };
    return { verdict: { ok: true, rate: limit < 0 ? null : rate }, granted: granted < 0 ? null : granted, known };
  });
}

/** A month's counter outlives the month long enough for late settlement. */
export const MONTH_TTL_S = 70 * 86_400;

/** Key of an account's month; its hash tag keeps what one script needs on one node. */
export function quotaKey(accountId: string, month: string): string {
  return `q:{${accountId}}:${month}`;
}

/** When each lease is over; and up to where each partition of events.raw is settled. They meet in one script. */
export const LEASES_KEY = 'q:{edges}leases';
export const CHECKPOINTS_KEY = 'q:{edges}checkpoints';
/** The generation of each partition's counters. */
export const GENERATIONS_KEY = 'q:{edges}generations';
/** The masters of a cluster that the counters lie on. */
export const MASTERS_KEY = 'q:{edges}masters';
