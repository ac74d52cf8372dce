import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LinkedPerson, PersonGroup } from '#pipelines/erasure/retention.ts';
import type { ErasureParts } from '#services/erasure/erasure_log.ts';
import { createPersonSweep } from '#services/erasure/person_sweep.ts';
import { cases } from '#test/harness/environment.ts';

const SITE = 'shop';
const DAYS = 30;
const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 10, 20, 5);
/** Between two looks at the clock: nothing is waited for. */
const TICK_MS = 6_000;
/** Offsets of a record here. */
const RECORD = 2_000;
/** What passes from one look at how far a stage is to the next, where stages lag. */
const POLL_MS = 12_000;

class Crash extends Error {}

interface Plan {
  /**
   * Those who are one, with how many days ago something last came of one of them; null: their rows are gone, and so is when, unless it
   * was noted before.
   */
  groups: readonly { persons: readonly string[]; days: number | null; noted?: number }[];
  /** What comes of somebody at a step, or when it is asked how far a stage is: only an event, or one that links them to somebody too. */
  events: readonly { step?: number; poll?: number; person: string; with?: string }[];
  /** Steps in which the process dies: before or after their effect. */
  crashes: ReadonlyMap<number, 'before' | 'after'>;
  /** A step after which Redis restarts without what was deleted in the steps since the last look of its disk. */
  restart?: number;
  /** How often each stage is asked how far it is before it passes an event; 0: events are stored at once. */
  lag?: number;
  /** Who was split, and how many days ago. */
  split?: { persons: readonly string[]; days: number };
  slice?: number;
  /** How long the site keeps persons. */
  keepDays?: number;
}

/** Everything that holds persons, in memory. */
function world({ groups, events, crashes, restart, lag = 0, split, keepDays = DAYS }: Plan) {
  let steps = 0;
  let polls = 0;
  const cameMs = new Map<string, number>();
  const erasedMs = new Map<string, number>();
  let firstEnd: number | null = null;
  let nowMs = START_MS;
  let versions = 0;
  /** By person, all who are one with them. */
  const redis = new Map<string, Set<string>>();
  const topic = new Set<string>();
  const links = new Map<string, LinkedPerson>();
  const rows: { person: string; atMs: number }[] = [];
  const seen = new Map<string, number>();
  let mark: number | null = null;
  let unwritten: [string, Set<string>][] = [];
  const splitMs = START_MS - (split?.days ?? Infinity) * DAY_MS;

  /** As identity learns it. */
  function learn(one: string, other: string): void {
    const all = new Set([...(redis.get(one) ?? [one]), ...(redis.get(other) ?? [other])]);
    const [leader = one] = [...all].sort();
    const version = ++versions;
    for (const person of all) {
      redis.set(person, all);
      topic.add(`${person}/mail`);
      links.set(person, { person, leader, version });
    }
  }
  const leaderOf = (person: string): string => [...(redis.get(person) ?? [person])].sort()[0] ?? person;
  function come({ person, with: other }: Plan['events'][number]): void {
    if (other !== undefined) learn(person, other);
    rows.push({ person: leaderOf(person), atMs: nowMs });
  }
  for (const { persons, days, noted } of groups) {
    const [first = ''] = persons;
    for (const person of persons) learn(first, person);
    if (noted !== undefined) {
      seen.set(first, START_MS - noted * DAY_MS);
      mark = START_MS - DAY_MS;
    }
    if (days !== null) rows.push({ person: persons.at(-1) ?? first, atMs: START_MS - days * DAY_MS });
  }

  /** What each stage has yet to pass, and of how many of them it was asked since it passed one. */
  const topics = ['events.raw', 'events.unique', 'events.identified'].map((name) => ({
    ...{ name, ends: 0, passed: 0, asked: 0 },
    waiting: [] as Plan['events'][number][],
  }));
  /** What an event is by the time it is read from a topic. */
  function arrive(at: number, event: Plan['events'][number]): void {
    const topic = topics[at];
    if (at === 0) cameMs.set(event.person, nowMs);
    if (topic === undefined) return void rows.push({ person: leaderOf(event.person), atMs: nowMs });
    topic.ends++;
    topic.waiting.push(event);
  }
  const offsets = {
    // More than could be markers of transactions alone.
    fetchTopicOffsets: async (name: string) => {
      const ends = topics.find((topic) => topic.name === name)?.ends ?? 0;
      return [{ partition: 0, low: '0', high: String(ends * RECORD), offset: String(ends * RECORD) }];
    },
    fetchOffsets: async ({ topics: [name] }: { topics: string[] }) => {
      const at = topics.findIndex((topic) => topic.name === name);
      const topic = topics[at];
      if (topic === undefined) return [{ partitions: [{ partition: 0, offset: '0' }] }];
      polls++;
      if (lag > 0) nowMs += POLL_MS;
      for (const event of events.filter((one) => one.poll === polls)) arrive(0, event);
      if (++topic.asked >= lag) {
        topic.asked = 0;
        const event = topic.waiting.shift();
        if (event !== undefined) {
          topic.passed++;
          if (at === 1 && event.with !== undefined) learn(event.person, event.with);
          arrive(at + 1, event);
        }
      }
      return [{ partitions: [{ partition: 0, offset: String(topic.passed * RECORD) }] }];
    },
  };

  async function step<T>(effect: () => T): Promise<T> {
    const dies = crashes.get(++steps);
    for (const event of events.filter((one) => one.step === steps)) {
      if (lag > 0) arrive(0, event);
      else come(event);
    }
    if (dies === 'before') throw new Crash();
    const done = effect();
    if (steps === restart) for (const [person, group] of unwritten) if (!redis.has(person)) redis.set(person, group);
    if (dies === 'after') throw new Crash();
    return done;
  }

  const producer = () => ({
    ...{ connect: async () => undefined, disconnect: async () => undefined },
    async transaction() {
      const sent: string[] = [];
      return {
        ...{ isActive: () => true, abort: async () => undefined },
        async send({ messages }: { messages: { key: string; value: null }[] }) {
          sent.push(...messages.map(({ key }) => key));
        },
        commit: () =>
          step(() => {
            for (const key of sent) topic.delete(key);
          }),
      };
    },
  });
  const unseenNow = (beforeMs: number): LinkedPerson[] => {
    const ofLeader = Map.groupBy(links.values(), ({ leader }) => leader);
    return [...ofLeader.values()]
      .filter((ones) => ones.some(({ person }) => seen.has(person)))
      .filter((ones) => Math.max(...ones.map(({ person }) => seen.get(person) ?? 0)) < beforeMs)
      .flat()
      .sort((a, b) => (`${a.leader}/${a.person}` < `${b.leader}/${b.person}` ? -1 : 1));
  };
  const parts = {
    session: {
      groupOf: (name: string) => name,
      kafka: { producer },
      admin: offsets,
    },
    settings: { sites: () => [{ site_id: SITE, person_days: keepDays }], site: () => ({ person_days: keepDays }) },
    erasures: { readNow: async () => new Map(), codec: {} },
    notices: { sendDue: async () => undefined },
    logger: {
      info: () => undefined,
      warn: ({ err }: { err: unknown }) => {
        throw err;
      },
    },
    sweepHour: 3,
    eventDays: 0,
    nowMs: () => (nowMs += TICK_MS),
    data: {
      links: () =>
        step(() =>
          [...topic].map((key) => {
            const [person_id = '', target = ''] = key.split('/');
            return { key, partition: 0, link: { site_id: SITE, kind: 'edge', person_id, target } };
          }),
        ),
    },
    index: {
      nowMs: async () => nowMs,
      erase: (_: string, persons: readonly string[]) =>
        step(() => {
          const others = persons.flatMap((one) => [...(redis.get(one) ?? [])]).filter((one) => !persons.includes(one));
          if (others.length > 0) return { ok: false, others };
          for (const person of persons) {
            const group = redis.get(person);
            if (group !== undefined) unwritten.push([person, group]);
            redis.delete(person);
            erasedMs.set(person, nowMs);
          }
          return { ok: true, keys: 0 };
        }),
    },
    persons: {
      groupsOf: (_: string, persons: readonly string[]) => {
        unwritten = [];
        return step(() => persons.filter((person) => redis.has(person)).map((person) => ({ person })));
      },
    },
    unseen: {
      sync: async () => undefined,
      isUnended: async () => false,
      marks: async () => new Map(mark === null ? [] : [[SITE, mark]]),
      done: (_: string, atMs: number) => step(() => (mark = atMs)),
      forgetSites: async (sites: string[]) => {
        if (sites.length > 0) seen.clear();
      },
      note: (_: string, sinceMs: number) =>
        step(() => {
          mark ??= 1_000;
          for (const { person, atMs } of rows) {
            if (atMs >= sinceMs && links.has(person)) seen.set(person, Math.max(seen.get(person) ?? 0, atMs));
          }
        }),
      noteOthers: (_: string, atMs: number) =>
        step(() => {
          for (const [leader, ones] of Map.groupBy(links.values(), (one) => one.leader)) {
            if (!ones.some(({ person }) => seen.has(person))) seen.set(ones[0]?.person ?? leader, atMs);
          }
        }),
      wereSplit: async (_: string, afterMs: number, upToMs: number) => splitMs > afterMs && splitMs <= upToMs,
      unseen: async (_: string, at: { beforeMs: number; splitMs: number }, after: string, limit: number) =>
        unseenNow(at.beforeMs)
          .filter(({ leader }) => leader > after && !(splitMs > at.splitMs && split?.persons.includes(leader)))
          .slice(0, limit),
      begin: (what: string, _: string, gone: readonly PersonGroup[], { seenBeforeMs }: { seenBeforeMs: number }) =>
        step(() => {
          const hasLeft = async () => false;
          const newest = Math.max(...gone.map(({ version }) => version));
          for (const person of gone.flatMap(({ persons }) => persons)) {
            if (what === 'links' && (links.get(person)?.version ?? Infinity) <= newest) links.delete(person);
            if (what === 'seen' && (seen.get(person) ?? Infinity) < seenBeforeMs) seen.delete(person);
          }
          return hasLeft;
        }),
      underWay: async () => new Map(),
      tidy: () =>
        step(() => {
          for (const person of seen.keys()) if (!links.has(person)) seen.delete(person);
        }),
      end: () =>
        step(() => {
          firstEnd ??= steps;
        }),
    },
  } as unknown as ErasureParts;
  return {
    parts,
    redis,
    topic,
    links,
    seen,
    steps: () => steps,
    firstEnd: () => firstEnd,
    polls: () => polls,
    cameMs,
    erasedMs,
    isDone: () => (mark ?? 0) > START_MS,
  };
}

/** Swept by one process after the other, each of which may die. */
async function swept(plan: Plan) {
  const one = world(plan);
  while (!one.isDone()) {
    const sweep = createPersonSweep(one.parts, plan.slice);
    try {
      while (!one.isDone()) await sweep.step(() => true);
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
    }
  }
  const { redis, topic, links } = one;
  const left = {
    redis: [...redis.keys()].sort(),
    topic: [...topic].map((key) => key.split('/')[0] ?? '').sort(),
    links: [...links.keys()].sort(),
  };
  return { ...one, left };
}

const all = (persons: string) => {
  const names = persons.split('');
  return { redis: names, topic: names, links: names };
};

const GROUPS: Plan['groups'] = [
  { persons: ['a', 'b', 'c'], days: 31 },
  { persons: ['d', 'e'], days: 29 },
  { persons: ['f'], days: 400 },
  { persons: ['g'], days: null },
];
/** Whose rows are gone, and when they were seen is noted. */
const NOTED: Plan['groups'] = [
  { persons: ['h', 'i'], days: null, noted: 33 },
  { persons: ['j'], days: null, noted: 27 },
];

test('whatever step of a sweep the process dies in, the next one ends it: the unseen are gone, the others as they were', async () => {
  const steps = (await swept({ groups: GROUPS, events: [], crashes: new Map() })).steps();
  expect(steps).toBeGreaterThan(10);
  for (let at = 1; at <= steps; at++) {
    for (const when of ['before', 'after'] as const) {
      const crashes = new Map([[at, when]]);
      const { left, seen } = await swept({ groups: GROUPS, events: [], crashes });
      expect([at, when, left]).toEqual([at, when, all('deg')]);
      expect([...seen.keys()].sort()).toEqual(['e', 'g']);
      const noted = await swept({ groups: [...GROUPS, ...NOTED].slice(3), events: [], crashes });
      expect([at, when, noted.left]).toEqual([at, when, all('gj')]);
      expect([...noted.seen.keys()].sort()).toEqual(['g', 'j']);
    }
  }
});

test('who is seen again before it was looked for the last time is not forgotten', async () => {
  const { left } = await swept({ groups: GROUPS, events: [{ step: 3, person: 'a' }], crashes: new Map() });
  expect(left).toEqual(all('abcdeg'));
});

test('what the edge has taken and no row says yet counts, whatever stage it waits for', async () => {
  for (const lag of [1, 3, 7]) {
    const event = { step: 1, person: 'f' };
    const plan: Plan = { groups: GROUPS, events: [event], crashes: new Map(), lag };
    // It comes when the sweep has noted who was seen, and is looked for once more.
    expect((await swept(plan)).left).toEqual(all('defg'));
    // Of a later slice, it comes while an earlier one is forgotten.
    const slices = { ...plan, slice: 4 };
    const end = (await swept({ ...slices, events: [] })).firstEnd() ?? 0;
    expect(end).toBeGreaterThan(5);
    for (let step = 1; step <= end; step++) {
      const { left } = await swept({ ...slices, events: [{ ...event, step }] });
      expect([lag, step, left]).toEqual([lag, step, all('defg')]);
    }
  }
});

test('however long stages lag, nothing counts too little but what came in the last minutes', async () => {
  for (const lag of [1, 2, 5]) {
    const plan: Plan = { groups: GROUPS, events: [], crashes: new Map(), lag };
    const polls = (await swept(plan)).polls();
    const forgotten: number[] = [];
    for (let poll = 1; poll <= polls; poll++) {
      const { left, cameMs, erasedMs } = await swept({ ...plan, events: [{ poll, person: 'f' }] });
      if (left.links.includes('f')) continue;
      forgotten.push((erasedMs.get('f') ?? Infinity) - (cameMs.get('f') ?? -Infinity));
    }
    expect(forgotten.filter((ms) => ms > 16 * POLL_MS)).toEqual([]);
    expect(forgotten.length).toBeLessThan(6);
  }
});

test('a site whose persons cannot be looked for keeps no other from it', async () => {
  const { parts } = world({ groups: [], events: [], crashes: new Map() });
  const sites = ['broken', 'fine'].map((site_id) => ({ site_id, person_days: DAYS }));
  const marks = new Map<string, number>();
  let nowMs = START_MS;
  let failed = 0;
  const sweep = createPersonSweep({
    ...parts,
    nowMs: () => (nowMs += 10_000),
    index: { ...parts.index, nowMs: async () => nowMs },
    settings: { ...parts.settings, sites: () => sites, site: () => sites[0] } as unknown as ErasureParts['settings'],
    logger: { ...parts.logger, warn: () => void failed++ },
    unseen: {
      ...parts.unseen,
      marks: async () => new Map(marks),
      done: async (site, atMs) => void marks.set(site, atMs),
      note: async (site) => {
        if (site === 'broken') throw new Error('too much memory');
      },
    },
  });
  for (let day = 1; day < 4; day++) {
    while (nowMs < START_MS + day * DAY_MS) await sweep.step(() => true);
    expect(Math.floor(((marks.get('fine') ?? 0) - START_MS) / DAY_MS)).toBe(day - 1);
  }
  expect(failed).toBeGreaterThan(100);
});

test('who was split lately is not forgotten, whenever they were seen', async () => {
  const plan: Plan = { groups: GROUPS, events: [], crashes: new Map() };
  expect((await swept({ ...plan, split: { persons: ['f', 'x'], days: 44 } })).left).toEqual(all('defg'));
  expect((await swept({ ...plan, split: { persons: ['f', 'x'], days: 46 } })).left).toEqual(all('deg'));
});

test('once rows have gone to those who were split, all rows of the site say anew when they were seen', async () => {
  // h was noted by itself long ago; a row too old to be looked through every day was another's, and is theirs now.
  const groups: Plan['groups'] = [{ persons: ['h'], days: 70, noted: 200 }];
  const old: Plan = { groups, events: [], crashes: new Map(), keepDays: 100 };
  const splitAgo = (days: number): Plan => ({ ...old, split: { persons: ['h', 'x'], days } });
  expect((await swept(old)).left).toEqual(all(''));
  expect((await swept(splitAgo(47))).left).toEqual(all(''));
  expect((await swept(splitAgo(45.5))).left).toEqual(all('h'));
});

test('a Redis that restarts without its last deletions leaves nobody whom no later sweep finds', async () => {
  const { steps } = await swept({ groups: GROUPS, events: [], crashes: new Map() });
  for (let restart = 1; restart <= steps(); restart++) {
    const { redis, links } = await swept({ groups: GROUPS, events: [], crashes: new Map(), restart });
    expect([restart, [...redis.keys()].filter((person) => !links.has(person))]).toEqual([restart, []]);
  }
});

test('whoever returns at whatever moment is known everywhere or nowhere, and nobody else is touched', async () => {
  const step = fc.integer({ min: 1, max: 40 });
  const plans = fc.record({
    events: fc.array(
      fc.record(
        { step, person: fc.constantFrom(...'abcdefgz'.split('')), with: fc.constantFrom(...'abcdefgz'.split('')) },
        { requiredKeys: ['step', 'person'] },
      ),
      { maxLength: 4 },
    ),
    crashes: fc
      .array(fc.tuple(step, fc.constantFrom('before' as const, 'after' as const)), { maxLength: 4 })
      .map((some) => new Map(some)),
  });
  await fc.assert(
    fc.asyncProperty(plans, async ({ events, crashes }) => {
      const { redis, topic, links } = await swept({ groups: GROUPS, events, crashes });
      const found = new Set([...redis.keys(), ...[...topic].map((key) => key.split('/')[0] ?? '')]);
      // By links later sweeps find whoever is known anywhere.
      expect([...found].filter((person) => !links.has(person))).toEqual([]);
      for (const person of 'deg') {
        expect([person, redis.has(person), links.has(person), topic.has(`${person}/mail`)]).toEqual([
          ...[person, true, true, true],
        ]);
      }
      const came = new Set(events.flatMap((event) => [event.person, event.with]));
      if (!came.has('f')) expect([redis.has('f'), links.has('f'), topic.has('f/mail')]).toEqual([false, false, false]);
    }),
    { numRuns: cases(300) },
  );
});
