import { expect, test } from 'vitest';
import type { ErasedSubject } from '#infra/clickhouse/erase_persons.ts';
import { createRecordSeal, parseKeyRing } from '#infra/secrets/seal.ts';
import { newErasure, SEALED_AS } from '#pipelines/erasure/erasure.ts';
import type { Erasure } from '#schemas/records.ts';
import type { ErasureParts } from '#services/erasure/erasure_log.ts';
import { carryOn } from '#services/erasure/erasure_runner.ts';

const SECRET = Buffer.alloc(32, 3);
/** Between two looks at the clock: nothing is waited for. */
const TICK_MS = 60_000;
const seal = createRecordSeal(parseKeyRing(`main:${Buffer.alloc(32, 5).toString('base64')}`), (bytes) =>
  Buffer.alloc(bytes, 1),
);

class Crash extends Error {}

/**
 * Everything that an erasure of Ann touches, in memory. Her second id is merged while it is under way; an outcome of a call comes after
 * its event is gone. The process dies at the step that is asked for, before or after its effect.
 */
function world(crashAt: number, isAfter: boolean) {
  let steps = 0;
  async function step<T>(effect: () => T): Promise<T> {
    const isHere = ++steps === crashAt;
    if (isHere && !isAfter) throw new Crash();
    const done = effect();
    if (isHere) throw new Crash();
    return done;
  }
  const topic = new Map<string, Erasure>();
  const links = new Set(['ann/tablet', 'bob/phone']);
  const known = new Set(['ann', 'tablet', 'bob']);
  const tables = {
    event_rows: [
      { person: 'ann', event: 'a1' },
      { person: 'tablet', event: 'a2' },
      { person: 'bob', event: 'b1' },
    ],
    outcomes: ['a1', 'b1'],
  };
  const erasing = { persons: new Set<string>(), events: new Set<string>(), ids: new Set<string>() };
  let isMerged = false;
  let isLate = true;
  const theirs = (): string[] => (isMerged ? ['ann', 'tablet'] : ['ann']);
  const isOf = ({ person, event }: { person: string; event: string }): boolean =>
    erasing.persons.has(person) || erasing.events.has(event);

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
              else if (value === null) topic.delete(key);
              else topic.set(key, JSON.parse(value.toString()));
            }
          }),
      };
    },
  });
  let nowMs = 1_000_000;
  const parts = {
    session: {
      kafka: { producer },
      admin: { fetchTopicOffsets: async () => [], fetchOffsets: async () => [] },
      groupOf: (name: string) => name,
    },
    erasures: {
      all: topic,
      codec: { encode: (erasure: Erasure) => Buffer.from(JSON.stringify(erasure)) },
      readNow: async () => new Map(topic),
    },
    settings: { destination: () => undefined, site: () => undefined },
    ...{ adapters: [], seal, identitySecret: SECRET, notices: { sendDue: async () => undefined } },
    logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
    nowMs: () => (nowMs += TICK_MS),
    data: {
      resolve: () => step(() => ({ persons: theirs(), identifiers: [] })),
      links: (persons: ReadonlyMap<string, ReadonlySet<string>>) =>
        step(() => {
          const all = [...links].filter((key) => persons.get('shop')?.has(key.split('/')[0] ?? ''));
          return all.map((key) => ({
            key,
            partition: 0,
            link: { site_id: 'shop', kind: 'person', person_id: 'ann', target: 'tablet' },
          }));
        }),
    },
    index: {
      erase: (_site: string, persons: readonly string[]) =>
        step(() => {
          const others = isMerged ? [] : ['tablet'];
          isMerged = true;
          if (others.length > 0) return { ok: false, others };
          const keys = persons.filter((person) => known.delete(person)).length;
          return { ok: true, keys };
        }),
    },
    rows: {
      begin: (subjects: readonly ErasedSubject[]) =>
        step(() => {
          for (const { value } of subjects) erasing.persons.add(value);
          for (const row of tables.event_rows) if (isOf(row)) erasing.events.add(row.event);
        }),
      count: () => step(() => [{ erasure_id: 'e1', place: 'event_rows', count: erasing.events.size }]),
      deleteBesides: () =>
        step(() => {
          tables.outcomes = tables.outcomes.filter((event) => !erasing.events.has(event));
        }),
      deleteEvents: () =>
        step(() => {
          tables.event_rows = tables.event_rows.filter((row) => !isOf(row));
          if (isLate) tables.outcomes.push('a2');
          isLate = false;
        }),
      underWay: () => step(() => new Map()),
      hasRows: () =>
        step(() => tables.event_rows.some(isOf) || tables.outcomes.some((event) => erasing.events.has(event))),
      end: () =>
        step(() => {
          for (const noted of Object.values(erasing)) noted.clear();
        }),
    },
  } as unknown as ErasureParts;
  const asked = { erasure_id: 'e1', site_id: 'shop', asked_by: 'tester', destinations: ['meta'] };
  const subject = { persons: ['ann'], identifiers: [] };
  const sealed = seal.seal(SEALED_AS, 'e1', JSON.stringify(subject));
  topic.set('e1', newErasure({ ...asked, sealed }, SECRET, subject, nowMs));
  return { parts, topic, tables, known, links, steps: () => steps };
}

async function carriedOut(crashAt: number, isAfter: boolean) {
  const one = world(crashAt, isAfter);
  const leads = (): boolean => true;
  while (one.topic.get('e1')?.phase !== 'done') {
    await carryOn(one.parts, leads, { untilMs: 0 }).catch((error: unknown) => {
      if (!(error instanceof Crash)) throw error;
    });
  }
  return one;
}

test('whatever step of an erasure the process dies in, the next one ends it, and nothing of the person is left', async () => {
  const steps = (await carriedOut(0, false)).steps();
  expect(steps).toBeGreaterThan(20);
  for (let at = 1; at <= steps; at++) {
    for (const isAfter of [false, true]) {
      const { topic, tables, known, links } = await carriedOut(at, isAfter);
      const left = { ...tables, known: [...known], links: [...links] };
      expect([at, isAfter, left]).toEqual([
        at,
        isAfter,
        { event_rows: [{ person: 'bob', event: 'b1' }], outcomes: ['b1'], known: ['bob'], links: ['bob/phone'] },
      ]);
      const receipt = topic.get('e1');
      expect(receipt?.sealed).toBeNull();
      expect(receipt?.erased).toContainEqual({ place: 'event_rows', count: 2 });
    }
  }
});
