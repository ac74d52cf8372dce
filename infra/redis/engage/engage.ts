// What visitors have seen and submitted of surveys, banners and forms.

import { type EngageMemory, type SeenItem, together } from '#pipelines/engage/decide.ts';
import { MEMORY_DAYS } from '#pipelines/engage/definition_fields.ts';
import { ADDRESS_WINDOW_S, EMAIL_WINDOW_S, type SpamCounts, TEXT_WINDOW_S } from '#pipelines/engage/spam.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { createScript, deadlineExceeded, gather, pairsOf, within, withRedisErrors } from '../client.ts';
import type { Redis } from '../connection.ts';
import { identityKeys, separateMemory } from '../indexes/identity_index.ts';

export type Impression =
  /** `id`: the UUID under which it was shown; the same again is not counted. */
  | { kind: 'shown'; name: string; id: string }
  | { kind: 'done'; name: string }
  /** `atMs`: when it happened. */
  | { kind: 'event'; name: string; atMs: number };

/**
 * What visitors saw and did, shared by all edges; everything throws RedisUnavailableError. A visitor's memory is a hash
 * under a digest of site and distinct id, as in the index of persons, and is forgotten MEMORY_DAYS after its last note. It
 * holds no more names than a site's definitions have.
 */
export type EngageMemoryStore = ReturnType<typeof createVisitorStateStore>;

const TTL_S = MEMORY_DAYS * 86_400;
const EVENT = 'event:';
/** A page waits for it; beyond this what the browser remembers decides. */
const READ_MS_MAX = 250;
/** Visitors in one call; Redis does nothing else meanwhile. */
const READS_AT_ONCE = 50;
/** Visitors of a site that wait for a call: twenty calls are not over in time. */
const READS_WAITING_MAX = 1_000;

/** @param index Where the index of persons is, if not in the same Redis. */
export function createVisitorStateStore(redis: Redis, index: Redis = redis) {
  const noteScript = createScript(redis, 'engage/engage_note.lua');
  const keyOf = index === redis ? sharedMemory(redis) : separateMemory;
  const read = index === redis ? readShared(redis) : readSeparate(redis, index);
  const ask = gather((siteId, persons: readonly string[]) => within(READ_MS_MAX, read(siteId, persons)), {
    questionsMax: READS_AT_ONCE,
    waitingMax: READS_WAITING_MAX,
    waitMsMax: READ_MS_MAX,
    deadlineExceeded,
  });
  return {
    /** What is remembered of the person that a distinct id stands for, whatever id it was noted under. */
    async read(siteId: string, distinctId: string): Promise<EngageMemory> {
      return readMemories(await ask(siteId, basePersonId(siteId, distinctId)));
    },
    async note(siteId: string, distinctId: string, notes: readonly Impression[], nowMs: number): Promise<void> {
      const args = notes.flatMap(argumentsOf);
      await noteScript.run([keyOf(siteId, basePersonId(siteId, distinctId))], [nowMs, TTL_S, ...args]);
    },
  };
}

/** For each visitor the person, then what is remembered of each who is one with them, flat. */
type MemoryReader = (siteId: string, persons: readonly string[]) => Promise<[string, ...string[][]][]>;

const sharedMemory =
  (redis: Redis) =>
  (siteId: string, person: string): string =>
    `${identityKeys(redis.isCluster).memoriesOf(siteId)}${person}`;

/** In one call, as both lie together. */
function readShared(redis: Redis): MemoryReader {
  const script = createScript(redis, 'engage/engage_read.lua');
  const { personsOf, memoriesOf } = identityKeys(redis.isCluster);
  return async (siteId, persons) =>
    (await script.run([personsOf(siteId), memoriesOf(siteId)], persons)) as [string, ...string[][]][];
}

function readSeparate(redis: Redis, index: Redis): MemoryReader {
  const script = createScript(index, 'engage/engage_groups.lua');
  const { personsOf, indexOf } = identityKeys(index.isCluster);
  const memoryOf = async (siteId: string, person: string): Promise<string[]> =>
    Object.entries(await withRedisErrors(redis.hgetall(separateMemory(siteId, person)))).flat();
  return async (siteId, persons) => {
    // Of two keys that are not there a node refuses the script while it has a part of their slot only.
    const keys = [personsOf(siteId), ...(index.isCluster ? [indexOf(siteId)] : [])];
    const groups = (await script.run(keys, persons)) as [string, ...string[]][];
    return Promise.all(
      groups.map(async ([leader, ...others], at): Promise<[string, ...string[][]]> => {
        const base = persons[at] as string;
        return [leader, ...(await Promise.all([base, ...others].map((person) => memoryOf(siteId, person))))];
      }),
    );
  };
}

function argumentsOf(note: Impression): (string | number)[] {
  if (note.kind === 'event') return [`${EVENT}${note.name}`, note.kind, note.atMs];
  return [note.name, note.kind, note.kind === 'shown' ? note.id : ''];
}

function readMemories([personId, ...memories]: readonly [string, ...(readonly string[])[]]): EngageMemory {
  const seen = new Map<string, SeenItem>();
  const events = new Map<string, SeenItem>();
  for (const flat of memories) {
    for (const [name, item] of readMemory(flat)) {
      const isEvent = name.startsWith(EVENT);
      const [into, key] = isEvent ? [events, name.slice(EVENT.length)] : [seen, name];
      into.set(key, together(into.get(key), item));
    }
  }
  return { personId, seen, events };
}

function readMemory(flat: readonly string[]): Map<string, SeenItem> {
  const items = new Map<string, SeenItem>();
  for (const [key, value] of pairsOf(flat)) {
    const [field, name] = [key.slice(0, 2), key.slice(2)];
    const item = items.get(name) ?? { times: 0, lastMs: 0, doneMs: null };
    if (field === 't:') item.times = Number(value);
    else if (field === 'l:') item.lastMs = Number(value);
    else if (field === 'd:') item.doneMs = Number(value);
    items.set(name, item);
  }
  return items;
}

/** What of a submission is counted; null: nothing of that kind. All but the submission are digests or random. */
export interface CountedSubmission {
  siteId: string;
  /** Of whatever is sent: an id that a second sending of the same has too. */
  submissionId: string;
  /** Who sends it; null: an anonymous visitor. */
  visitor: string | null;
  nonce: string | null;
  /** How long it is remembered at the least what the token came with. */
  nonceHeldMs: number;
  address: string | null;
  /** The network and form of a submission that has no token. */
  network: string | null;
  form: string | null;
  email: string | null;
  text: string | null;
}

const COUNT_MS_MAX = 500;

/** What is counted, in the order of the script's keys after the token's, and for how many seconds. */
const COUNTED = [
  ['address', ADDRESS_WINDOW_S],
  ['email', EMAIL_WINDOW_S],
  ['text', TEXT_WINDOW_S],
  ['network', ADDRESS_WINDOW_S],
  ['form', ADDRESS_WINDOW_S],
] as const;

export type EngageGuard = ReturnType<typeof createEngageGuard>;

/** Counts submissions over all edges; throws RedisUnavailableError. */
export function createEngageGuard(redis: Redis) {
  const script = createScript(redis, 'engage/engage_guard.lua');
  return {
    async count(submission: CountedSubmission): Promise<SpamCounts> {
      const { siteId, submissionId, visitor, nonce, nonceHeldMs } = submission;
      const keyOf = (kind: string, id: string | null): string => `engage:{${siteId}}:${kind}:${id ?? ''}`;
      const keys = [keyOf('token', nonce), ...COUNTED.map(([field]) => keyOf(field, submission[field]))];
      const windows = COUNTED.map(([field, window]) => (submission[field] === null ? 0 : window));
      const seconds = [nonce === null ? 0 : Math.ceil(nonceHeldMs / 1000), ...windows];
      const run = script.run(keys, [submissionId, visitor ?? '', ...seconds]) as Promise<number[]>;
      const [used, address = 0, email = 0, text = 0, network = 0, form = 0] = await within(COUNT_MS_MAX, run);
      return { tokenUsed: used === 1, address, email, text, network, form };
    },
  };
}
