// The connection to Redis: client, Lua scripts, deadlines, and calls gathered into one round trip.

import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { deadline } from '#infra/concurrency/time_limits.ts';
import { nodesOf, type Redis, type Server } from './connection.ts';

/**
 * Redis did not answer, or answered with an error, for example that its memory is full. The command may have taken effect;
 * to try again is safe, however often.
 */
export class RedisUnavailableError extends Error {
  readonly code = 'redis_unavailable';
  readonly recovery = 'wait';
}

/** An index is not whole: Redis was emptied, restarted or replaced since it was made. Nothing was done. */
export class IndexLostError extends Error {
  readonly code = 'index_lost';
  readonly recovery = 'wait';
}

/**
 * Redis is configured to evict keys when its memory is full; claims and counters would then disappear without an error.
 */
class RedisEvictsError extends Error {
  readonly code = 'redis_evicts';
}

/** Runs a command and turns the client's error into ours. Its message may quote arguments, so it is not carried on. */
export async function withRedisErrors<T>(command: Promise<T>): Promise<T> {
  try {
    return await command;
  } catch (error) {
    throw new RedisUnavailableError(`redis: ${error instanceof Error ? error.name : 'error'}`);
  }
}

/** The servers that take writes: the one, or the masters of a cluster that have slots, which are known once it has answered. */
export async function mastersOf(redis: Redis): Promise<Server[]> {
  await withRedisErrors(redis.ping());
  return nodesOf(redis, 'master');
}

/** What INFO answers, by the names of its fields; those without a value are left out. */
export const infoFields = (info: string): ReadonlyMap<string, string> =>
  new Map([...info.matchAll(/^(\w+):(\S+)\s*$/gm)].map(([, name = '', value = '']) => [name, value]));

const KEYS_PER_SCAN = 1_000;

/**
 * Deletes the keys of a pattern that are meant, on every master; answers how many there were. To repeat it is safe.
 *
 * @param match A pattern as SCAN has it.
 */
export async function unlinkWhere(redis: Redis, match: string, isMeant: (key: string) => boolean): Promise<number> {
  let unlinked = 0;
  for (const node of await mastersOf(redis)) {
    let cursor = '0';
    do {
      const [next, keys] = await withRedisErrors(node.scan(cursor, 'MATCH', match, 'COUNT', KEYS_PER_SCAN));
      // One by one, as they lie in several slots.
      const counts = await Promise.all(keys.filter(isMeant).map((key) => withRedisErrors(redis.unlink(key))));
      for (const count of counts) unlinked += count;
      cursor = next;
    } while (cursor !== '0');
  }
  return unlinked;
}

/** By how many milliseconds this host's clock is ahead of that of a server, and how long the answer took. */
export async function readClock(
  node: Pick<Redis, 'time'>,
  nowMs: () => number,
): Promise<{ aheadMs: number; roundTripMs: number }> {
  const askedMs = nowMs();
  const [seconds = 0, micros = 0] = (await node.time()).map(Number);
  const answeredMs = nowMs();
  const aheadMs = Math.round((askedMs + answeredMs) / 2 - (seconds * 1_000 + micros / 1_000));
  return { aheadMs, roundTripMs: answeredMs - askedMs };
}

/**
 * Refuses a Redis that evicts keys, on any of its nodes: a replica may take over. Throws RedisEvictsError, and
 * RedisUnavailableError where a master does not answer.
 */
export async function refuseEviction(redis: Redis): Promise<void> {
  const masters = await mastersOf(redis);
  const policyOf = async (node: Redis): Promise<string | undefined> =>
    infoFields(await withRedisErrors(node.info('memory'))).get('maxmemory_policy');
  const ofMasters = await Promise.all(masters.map(policyOf));
  // A replica that is away is asked when it is a master.
  const ofReplicas = await Promise.all(nodesOf(redis, 'slave').map((node) => policyOf(node).catch(() => undefined)));
  for (const policy of [...ofMasters, ...ofReplicas]) {
    if (policy !== undefined && policy !== 'noeviction') {
      throw new RedisEvictsError(`redis has maxmemory-policy ${policy}: set noeviction, keys must not vanish`);
    }
  }
}

export interface Script {
  run(keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

/** What a script of an index answers when the index is not whole. */
const LOST = 'lost';

/**
 * Lua files by their paths from this folder, one after the other, called by their digest and loaded when Redis does not
 * know it.
 */
export function createScript(redis: Redis, ...files: readonly string[]): Script {
  const text = files.map(read).join('\n');
  const digest = hash('sha1', text, 'hex');
  return {
    async run(keys, args) {
      try {
        return await redis.evalsha(digest, keys.length, ...keys, ...args);
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw refused(error);
      }
      try {
        return await redis.eval(text, keys.length, ...keys, ...args);
      } catch (error) {
        throw refused(error);
      }
    },
  };
}

/**
 * Lua files, one after the other, that work on an index: they can ask whether that is whole. The first key is the prefix of
 * the index. Throws IndexLostError when they say it is not.
 *
 * Scripts form the names of most keys themselves. That is safe in a cluster, as of a slot that is being moved no script
 * may see a part only: a node refuses one (TRYAGAIN) that names keys of which some are there and some are not. A
 * prefix is no key, so it is never there, and the epoch of an index in use always is.
 */
export function createIndexScript(redis: Redis, ...files: readonly string[]): Script {
  const script = createScript(redis, 'indexes/whole.lua', ...files);
  return {
    async run(keys, args) {
      const named = redis.isCluster ? [...keys, `${keys[0]}epoch`] : keys;
      const answer = await script.run(named, args);
      if (answer === LOST) throw new IndexLostError('redis lost what it held');
      return answer;
    },
  };
}

function read(file: string): string {
  return readFileSync(new URL(`./${file}`, import.meta.url), 'utf8');
}

/** Keeps the error's kind and drops its text, which may quote arguments. */
function refused(error: unknown): RedisUnavailableError {
  const kind = error instanceof Error ? (/^[A-Z]{3,20}\b/.exec(error.message)?.[0] ?? error.name) : 'error';
  return new RedisUnavailableError(`redis script failed: ${kind}`);
}

export const deadlineExceeded = (): RedisUnavailableError => new RedisUnavailableError('redis: too late');

/**
 * Waits for an answer of Redis, and throws RedisUnavailableError where it takes longer than `deadlineMs`; what was asked
 * may still happen then.
 */
export async function within<T>(deadlineMs: number, answer: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const end = deadline(deadlineMs, () => reject(deadlineExceeded()));
  try {
    return await Promise.race([answer, late]);
  } finally {
    end();
  }
}

interface GatherLimits {
  questionsMax: number;
  /** Questions of one group that wait for a call; one more is refused at once. */
  waitingMax: number;
  /** Longest that a question waits for its answer, the calls before its own included. */
  waitMsMax: number;
  /**
   * Least time between the beginnings of two calls of a group: what a call costs is shared by more questions. One that comes
   * later than that after the last call is asked at once. Left out: none.
   */
  intervalMs?: number;
  /** What is thrown where a question has waited so long, or is one too many. */
  deadlineExceeded(): Error;
}

/**
 * One call of a group is under way at a time, and what is asked meanwhile shares the next one: at rest a question causes a
 * call at once, under load many share its cost. A question that has given up is not asked any more.
 *
 * @param ask Answers questions of one group, in their order; what it throws is thrown to each.
 */
export function gather<Question, Answer>(
  ask: (group: string, questions: readonly Question[]) => Promise<readonly Answer[]>,
  { questionsMax, waitingMax, waitMsMax, intervalMs = 0, deadlineExceeded }: GatherLimits,
): (group: string, question: Question) => Promise<Answer> {
  type Waiting = PromiseWithResolvers<Answer> & { question: Question; end(): void };
  /** Of the groups for which a call is under way. */
  const groups = new Map<string, Set<Waiting>>();

  async function askAll(group: string, waiting: Set<Waiting>): Promise<void> {
    while (waiting.size > 0) {
      const some = takeFirst(waiting, questionsMax);
      const questions = some.map(({ question }) => question);
      const beganMs = performance.now();
      await ask(group, questions).then(
        (answers) => {
          for (const [at, { resolve }] of some.entries()) resolve(answers[at] as Answer);
        },
        (error: unknown) => {
          for (const { reject } of some) reject(error);
        },
      );
      for (const { end } of some) end();
      const pauseMs = beganMs + intervalMs - performance.now();
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    groups.delete(group);
  }

  return (group, question) => {
    const known = groups.get(group);
    if (known !== undefined && known.size >= waitingMax) return Promise.reject(deadlineExceeded());
    const waiting = known ?? new Set();
    const answer = Promise.withResolvers<Answer>();
    const end = deadline(waitMsMax, () => {
      waiting.delete(asked);
      answer.reject(deadlineExceeded());
    });
    const asked = { ...answer, question, end };
    waiting.add(asked);
    if (known === undefined) {
      groups.set(group, waiting);
      void askAll(group, waiting);
    }
    return answer.promise;
  };
}

function takeFirst<T>(all: Set<T>, most: number): T[] {
  const taken: T[] = [];
  for (const one of all) {
    if (taken.length >= most) break;
    taken.push(one);
    all.delete(one);
  }
  return taken;
}

/** The fields or members of a flat answer, each with its value or score. */
export function pairsOf(flat: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at] as string, flat[2 * at + 1] as string]);
}
