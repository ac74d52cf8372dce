import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ErasedSubject } from '#infra/clickhouse/erasure/erase_rows.ts';
import { createRecordSeal, parseKeyRing } from '#infra/secrets/seal.ts';
import { newErasure, SEALED_AS } from '#pipelines/erasure/erasure.ts';
import { erasedPerson } from '#pipelines/erasure/suppression.ts';
import type { Erasure } from '#schemas/records.ts';
import type { ErasureParts } from '#services/erasure/erasure_log.ts';
import { carryOn } from '#services/erasure/erasure_runner.ts';
import { cases } from '#test/harness/environment.ts';

const SECRET = Buffer.alloc(32, 3);
const AT_MS = 1_000_000;
/** Between two looks at the clock: nothing is waited for. */
const TICK_MS = 60_000;
const seal = createRecordSeal(parseKeyRing(`main:${Buffer.alloc(32, 5).toString('base64')}`), (bytes) =>
  Buffer.alloc(bytes, 1),
);

class Crash extends Error {}

interface Plan {
  persons: readonly string[];
  /** One erasure each. */
  asked: readonly string[];
  /** Who become one, at which step. */
  merges: readonly { step: number; one: string; other: string }[];
  /** Steps in which the process dies: before or after their effect. */
  crashes: ReadonlyMap<number, 'before' | 'after'>;
}

/**
 * Everything that erasures touch, in memory. Each person has two events that were delivered; the outcome of one comes only when the
 * rows of its events are gone for the first time. A third is under way, and is a row when an erasure waits for that: else last of all.
 */
function world({ persons, asked, merges, crashes }: Plan) {
  let steps = 0;
  async function step<T>(effect: () => T): Promise<T> {
    const dies = crashes.get(++steps);
    for (const { one, other } of merges.filter((merge) => merge.step === steps)) merge(one, other);
    if (dies === 'before') throw new Crash();
    const done = effect();
    if (dies === 'after') throw new Crash();
    return done;
  }
  const topic = new Map<string, Erasure>();
  const groups = new Map(persons.map((person) => [person, new Set([person])]));
  const links = new Set(persons.map((person) => `${person}/mail`));
  let rows = persons.flatMap((person) => ['first', 'second'].map((event) => ({ person, event: `${person}:${event}` })));
  let outcomes = rows.map(({ event }) => event).filter((event) => event.endsWith('first'));
  const late = new Set(rows.map(({ event }) => event).filter((event) => event.endsWith('second')));
  let underWay = persons.map((person) => ({ person, event: `${person}:third` }));
  const noted = { persons: new Set<string>(), events: new Set<string>() };

  function arrive(isThere: (person: string) => boolean): void {
    rows.push(...underWay.filter(({ person }) => isThere(person)));
    underWay = underWay.filter(({ person }) => !isThere(person));
  }
  const isSuppressed = (person: string): boolean =>
    [...topic.values()].some((one) => one.persons.includes(erasedPerson(SECRET, 'shop', person)));

  /** In Redis: also of who was erased there before, as a process that stood still may. */
  function merge(one: string, other: string): void {
    const all = new Set([...(groups.get(one) ?? [one]), ...(groups.get(other) ?? [other])]);
    for (const person of all) groups.set(person, all);
  }
  const groupOf = (some: readonly string[]): string[] => [
    ...new Set(some.flatMap((person) => [person, ...(groups.get(person) ?? [])])),
  ];
  const isOf = ({ person, event }: { person: string; event: string }): boolean =>
    noted.persons.has(person) || noted.events.has(event);

  const producer = () => ({
    connect: async () => undefined,
    disconnect: async () => undefined,
    async transaction() {
      const sent: { topic: string; key: string; value: Buffer | null }[] = [];
      return {
        isActive: () => true,
        abort: async () => undefined,
        async send({ topic: name, messages }: { topic: string; messages: { key: string; value: Buffer | null }[] }) {
          sent.push(...messages.map((message) => ({ topic: name, ...message })));
        },
        commit: () =>
          step(() => {
            for (const { topic: name, key, value } of sent) {
              if (name === 'identity.links') links.delete(key);
              else if (value !== null) topic.set(key, JSON.parse(value.toString()));
            }
          }),
      };
    },
  });
  let nowMs = AT_MS;
  const fetchTopicOffsets = async (name: string): Promise<[]> => {
    if (name === 'events.identified') arrive(isSuppressed);
    return [];
  };
  const parts = {
    session: { kafka: { producer }, admin: { fetchTopicOffsets, fetchOffsets: async () => [] } },
    erasures: {
      codec: { encode: (erasure: Erasure) => Buffer.from(JSON.stringify(erasure)) },
      readNow: async () => new Map(topic),
    },
    settings: { destination: () => undefined, site: () => undefined },
    ...{ adapters: [], seal, identitySecret: SECRET, notices: { sendDue: async () => undefined } },
    logger: { info: () => undefined },
    nowMs: () => (nowMs += TICK_MS),
    data: {
      resolve: (_: string, subject: { persons: string[] }) =>
        step(() => ({ persons: groupOf(subject.persons), identifiers: [] })),
      links: (wanted: ReadonlyMap<string, ReadonlySet<string>>) =>
        step(() =>
          [...links].flatMap((key) => {
            const [person_id = '', target = ''] = key.split('/');
            const link = { site_id: 'shop', kind: 'edge', person_id, target };
            return wanted.get('shop')?.has(person_id) ? [{ key, partition: 0, link }] : [];
          }),
        ),
    },
    index: {
      erase: (_: string, some: readonly string[]) =>
        step(() => {
          const others = groupOf(some).filter((person) => !some.includes(person));
          if (others.length > 0) return { ok: false, others };
          return { ok: true, keys: some.filter((person) => groups.delete(person)).length };
        }),
    },
    rows: {
      begin: (subjects: readonly ErasedSubject[]) =>
        step(() => {
          for (const { value } of subjects) noted.persons.add(value);
          for (const row of rows) if (isOf(row)) noted.events.add(row.event);
        }),
      count: () => step(() => [{ erasure_id: 'e0', place: 'event_rows', count: noted.events.size }]),
      deleteBesides: () =>
        step(() => {
          outcomes = outcomes.filter((event) => !noted.events.has(event));
        }),
      deleteEvents: () =>
        step(() => {
          for (const { event } of rows.filter(isOf)) if (late.delete(event)) outcomes.push(event);
          rows = rows.filter((row) => !isOf(row));
        }),
      underWay: () => step(() => new Map()),
      hasRows: () => step(() => rows.some(isOf) || outcomes.some((event) => noted.events.has(event))),
      end: () =>
        step(() => {
          noted.persons.clear();
          noted.events.clear();
        }),
    },
  } as unknown as ErasureParts;
  Object.assign(parts.session, { groupOf: (name: string) => name });
  asked.forEach((person, at) => {
    const subject = { persons: [person], identifiers: [] };
    const id = `e${at}`;
    const request = { erasure_id: id, site_id: 'shop', asked_by: 'tester', destinations: ['meta'] };
    const sealed = seal.seal(SEALED_AS, id, JSON.stringify(subject));
    topic.set(id, newErasure({ ...request, sealed }, SECRET, subject, AT_MS));
  });
  function left() {
    arrive(() => true);
    const sorted = rows.map(({ event }) => event).sort();
    return { rows: sorted, outcomes, known: [...groups.keys()], links: [...links] };
  }
  return { parts, topic, left, steps: () => steps };
}

/** Carried on by one process after the other, each of which may die. */
async function carriedOut(plan: Plan) {
  const one = world(plan);
  while ([...one.topic.values()].some(({ phase }) => phase !== 'done')) {
    await carryOn(one.parts, () => true, { untilMs: 0, findAfterMs: 0 }).catch((error: unknown) => {
      if (!(error instanceof Crash)) throw error;
    });
  }
  return one;
}

/** What stands of some persons of whom nothing was ever erased. */
const untouched = (persons: readonly string[]) => ({
  rows: persons.flatMap((person) => ['first', 'second', 'third'].map((event) => `${person}:${event}`)),
  outcomes: persons.map((person) => `${person}:first`),
  known: persons,
  links: persons.map((person) => `${person}/mail`),
});

test('whatever step of an erasure the process dies in, the next one ends it, and nothing of the person is left', async () => {
  const persons = ['ann', 'tablet', 'bob'];
  const merges = [{ step: 3, one: 'ann', other: 'tablet' }];
  const planOf = (crashes: Plan['crashes']): Plan => ({ persons, asked: ['ann'], merges, crashes });
  const steps = (await carriedOut(planOf(new Map()))).steps();
  expect(steps).toBeGreaterThan(20);
  for (let at = 1; at <= steps; at++) {
    for (const when of ['before', 'after'] as const) {
      const { topic, left } = await carriedOut(planOf(new Map([[at, when]])));
      expect([at, when, left()]).toEqual([at, when, untouched(['bob'])]);
      expect(topic.get('e0')).toMatchObject({ sealed: null, phase: 'done' });
      expect(topic.get('e0')?.erased).toContainEqual({ place: 'event_rows', count: 6 });
    }
  }
});

const PERSONS = 'abcdefgh'.split('');
/** Later ones are those of a process that has not heard of the erasure for very long: they are beyond what is promised. */
const MERGED_BY_STEP = 22;

test('erasures of persons who are merged on the way take all who are one with them, and nobody else', async () => {
  const person = fc.constantFrom(...PERSONS);
  const plans = fc.record({
    asked: fc.uniqueArray(person, { minLength: 1, maxLength: 4 }),
    merges: fc.array(fc.record({ step: fc.integer({ min: 1, max: MERGED_BY_STEP }), one: person, other: person }), {
      maxLength: 4,
    }),
    crashes: fc
      .array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.constantFrom('before' as const, 'after' as const)), {
        maxLength: 4,
      })
      .map((some) => new Map(some)),
  });
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const { left, steps } = await carriedOut({ ...plan, persons: PERSONS });
      const merged = plan.merges.filter(({ step }) => step <= steps());
      const gone = new Set(plan.asked);
      for (const _ of merged) {
        for (const { one, other } of merged) if (gone.has(one) || gone.has(other)) gone.add(one).add(other);
      }
      expect(left()).toEqual(untouched(PERSONS.filter((one) => !gone.has(one))));
    }),
    { numRuns: cases(200) },
  );
});
