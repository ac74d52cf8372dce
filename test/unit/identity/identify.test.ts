import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  allLookups,
  basePersonId,
  type Identified,
  type IdentityAnswer,
  type IdentityStore,
  identify,
} from '#pipelines/identity/identity.ts';
import type { Event } from '#schemas/event.ts';
import { type EncodedEvent, encodeEvent } from '#schemas/event_batch.ts';
import { createMemoryIdentity } from '#test/contract/identity/memory_identity.ts';
import { NO_IDENTIFIERS } from '#test/contract/identity/questions.ts';
import { cases } from '#test/harness/environment.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';

const SECRET = Buffer.alloc(32, 7);
const RUNS = { numRuns: cases(100) };

function viewsOf(events: readonly Partial<Event>[]): EncodedEvent[] {
  return events.map((changes, index) => {
    const event = sampleEvent({ event_id: `e${index}`, ...changes });
    return {
      coordinate: { partition: 0, offset: index, index: 0 },
      personBytes: Buffer.from([0]),
      eventBytes: encodeEvent(event),
      siteId: event.site_id,
      eventId: event.event_id,
      distinctId: event.distinct_id,
      receivedAtMs: event.received_at,
    };
  });
}

async function personHistory(events: readonly Partial<Event>[]): Promise<string[]> {
  const { entries } = await identify(viewsOf(events), createMemoryIdentity(100), SECRET);
  return entries.map(({ person }) => person.person_id);
}

test('an event that names another id of its visitor joins the two, in whatever order they come', async () => {
  const link = { event: '$identify', identify: true, distinct_id: 'u1', previous_distinct_id: 'a1' };
  const [first] = await personHistory([link]);
  expect(await personHistory([link, { distinct_id: 'a1' }, { distinct_id: 'u1' }])).toEqual([first, first, first]);
  expect(await personHistory([{ distinct_id: 'b1' }, link, { distinct_id: 'b1' }])).toEqual([
    basePersonId('shop', 'b1'),
    first,
    basePersonId('shop', 'b1'),
  ]);
});

test('one event has one person, and its links are written once each', async () => {
  const link = { event: '$identify', identify: true, distinct_id: 'u1', previous_distinct_id: 'a1' };
  const { entries, links } = await identify(viewsOf([link]), createMemoryIdentity(100), SECRET);
  expect(entries).toHaveLength(1);
  const edges = links.filter(({ kind }) => kind === 'edge');
  expect(new Set(edges.map(({ target }) => target)).size).toBe(1);
  expect(edges.map(({ person_id }) => person_id)).toEqual([basePersonId('shop', 'u1'), basePersonId('shop', 'a1')]);
});

/** Who is one person after a scene: of each distinct id the distinct ids that are the same person. */
async function scene(events: readonly Partial<Event>[]): Promise<Record<string, string>> {
  const ids = [...new Set(events.flatMap((event) => [event.distinct_id, event.previous_distinct_id]))]
    .filter((id) => id !== null && id !== undefined)
    .sort();
  const persons = (await personHistory([...events, ...ids.map((distinct_id) => ({ distinct_id }))])).slice(
    events.length,
  );
  return Object.fromEntries(
    ids.map((id, at) => [id, ids.filter((_, other) => persons[other] === persons[at]).join(' ')]),
  );
}

const logsIn = (distinct_id: string, previous_distinct_id: string, changes: Partial<Event> = {}): Partial<Event> => ({
  ...{ event: '$identify', identify: true, distinct_id, previous_distinct_id },
  ...changes,
});

describe('scenes of people', () => {
  test('a daughter who logs in on the family’s tablet stays another person than her mother', async () => {
    const logins = [logsIn('mother', 'tablet'), logsIn('daughter', 'tablet'), logsIn('daughter', 'phone')];
    const separate = {
      ...{ mother: 'mother tablet', tablet: 'mother tablet' },
      ...{ daughter: 'daughter phone', phone: 'daughter phone' },
    };
    expect(await scene(logins)).toEqual(separate);
    expect(await scene([...logins, ...logins.toReversed()])).toEqual(separate);
  });

  test('whoever logs in on several devices is one person', async () => {
    const all = 'laptop mother phone';
    const logins = [logsIn('mother', 'laptop'), logsIn('mother', 'phone')];
    for (const order of [logins, logins.toReversed()]) {
      expect(await scene(order)).toEqual({ laptop: all, mother: all, phone: all });
    }
  });

  test('a user is not taken for the browser of another one', async () => {
    const logins = [logsIn('mother', 'tablet'), logsIn('daughter', 'mother')];
    expect(await scene(logins)).toEqual({ mother: 'mother tablet', tablet: 'mother tablet', daughter: 'daughter' });
  });

  test('an id that was an alias may have one of its own', async () => {
    const all = 'p1 p2 p3';
    const aliases = [logsIn('p1', 'p2', { event: '$create_alias' }), logsIn('p2', 'p3', { event: '$create_alias' })];
    expect(await scene(aliases)).toEqual({ p1: all, p2: all, p3: all });
  });

  test('two users are joined by a server that merges them dangerously, and by no browser', async () => {
    const logins = [logsIn('old', 'laptop'), logsIn('new', 'phone')];
    const merge = (caller: Event['caller']) => logsIn('new', 'old', { event: '$merge_dangerously', caller });
    const all = 'laptop new old phone';
    expect(await scene([...logins, merge('server')])).toEqual({ laptop: all, new: all, old: all, phone: all });
    expect(await scene([...logins, merge('browser')])).toMatchObject({ new: 'new phone', old: 'laptop old' });
  });

  describe.for(['server', 'browser'] as const)(
    'two customers whom a stranger said to be one in a browser',
    (caller) => {
      const orders = ['anna', 'ben'].map((distinct_id, at) => ({
        ...{ event: 'purchase', identify: true, distinct_id, caller: 'server' as const },
        identifiers: { ...NO_IDENTIFIERS, email: String(at).repeat(64) },
      }));
      const said = [logsIn('anna', 'ben', { caller: 'browser' }), logsIn('ben', 'anna', { caller: 'browser' })];

      test(`stay two persons when they log in, said by a ${caller}`, async () => {
        const logins = [logsIn('anna', 'laptop', { caller }), logsIn('ben', 'phone', { caller })];
        const separate = { anna: 'anna laptop', laptop: 'anna laptop', ben: 'ben phone', phone: 'ben phone' };
        expect(await scene([...orders, ...said, ...logins])).toEqual(separate);
        expect(await scene([...orders, ...said, ...said, ...logins, ...logins.toReversed()])).toEqual(separate);
      });

      test(`stay two persons where he names a new id for both, which a ${caller} says then`, async () => {
        const both = logsIn('mallory', 'ben', { caller: 'browser', identifiers: orders[0]?.identifiers ?? null });
        expect(await scene([...orders, both, logsIn('mallory', 'tablet', { caller })])).toEqual({
          ...{ anna: 'anna mallory tablet', mallory: 'anna mallory tablet', tablet: 'anna mallory tablet' },
          ben: 'ben',
        });
      });
    },
  );

  test('a sale at a till joins by its e-mail address who bought on the web', async () => {
    const email = { ...NO_IDENTIFIERS, email: 'e'.repeat(64) };
    const sale = { event: 'sale', identify: true, distinct_id: 'till', identifiers: email };
    const all = 'laptop mother till';
    expect(await scene([logsIn('mother', 'laptop', { identifiers: email }), sale])).toEqual({
      ...{ laptop: all, mother: all, till: all },
    });
  });
});

test('an event that may not stitch joins nothing', async () => {
  const link = { identify: false, distinct_id: 'u1', previous_distinct_id: 'a1' };
  const [visitor, previous] = await personHistory([link, { distinct_id: 'a1' }]);
  expect(visitor).not.toBe(previous);
});

/** A store that says of each asked person that it is itself, and writes down what it was asked. */
function recording(answerOf: (personId: string) => Partial<IdentityAnswer> = () => ({})) {
  const asked: { siteId: string; persons: string[] }[] = [];
  const store: IdentityStore = {
    async resolve(siteId, questions) {
      asked.push({ siteId, persons: questions.map((question) => question.basePersonId) });
      return questions.map(({ basePersonId: personId }) => ({
        ...{ personId, identifiers: null, links: [], capped: 0 },
        ...answerOf(personId),
      }));
    },
  };
  return { asked, store };
}

test('the store is asked once a site, in the order of the events, and not at all of nothing', async () => {
  const { asked, store } = recording();
  const events = [
    { site_id: 'b', distinct_id: 'b1' },
    { site_id: 'a', distinct_id: 'a1' },
    { site_id: 'b', distinct_id: 'b2', identify: true, previous_distinct_id: 'b0' },
    { site_id: 'b', distinct_id: 'b1' },
  ];
  const { entries } = await identify(viewsOf(events), store, SECRET);
  expect(asked).toEqual([
    { siteId: 'b', persons: ['b1', 'b2', 'b0', 'b2', 'b1'].map((id) => basePersonId('b', id)) },
    { siteId: 'a', persons: [basePersonId('a', 'a1')] },
  ]);
  expect(entries.map(({ person }) => person.person_id)).toEqual(
    events.map(({ site_id, distinct_id }) => basePersonId(site_id, distinct_id)),
  );
  asked.length = 0;
  expect(await identify([], store, SECRET)).toEqual({ entries: [], links: [], capped: 0 });
  expect(asked).toEqual([]);
});

test('entries are in the order of the events though the first site answers last', async () => {
  const { store } = recording();
  const quick = Promise.withResolvers<void>();
  const late: IdentityStore = {
    async resolve(siteId, questions) {
      if (siteId === 'slow') await quick.promise;
      else setImmediate(quick.resolve);
      return store.resolve(siteId, questions);
    },
  };
  const events = ['slow', 'quick', 'slow', 'quick'].map((site_id) => ({ site_id }));
  const { entries } = await identify(viewsOf(events), late, SECRET);
  expect(entries.map(({ view, coordinate }) => [view.siteId, coordinate.offset])).toEqual([
    ['slow', 0],
    ['quick', 1],
    ['slow', 2],
    ['quick', 3],
  ]);
});

test('events that were answered by one object have one person, with what is known of it', async () => {
  const known = { ...NO_IDENTIFIERS, email: 'ab'.repeat(32) };
  const answer: IdentityAnswer = { personId: 'p_x', identifiers: known, links: [], capped: 0 };
  const store: IdentityStore = { resolve: async (_siteId, questions) => questions.map(() => answer) };
  const { entries } = await identify(viewsOf([{}, {}]), store, SECRET);
  expect(entries[0]?.person).toEqual({ person_id: 'p_x', identifiers: known });
  expect(entries[1]?.person).toBe(entries[0]?.person);
});

test('links and capped identifiers are those of all questions, also of those of another id', async () => {
  const linkOf = (person_id: string) => ({
    ...{ site_id: 'shop', kind: 'edge' as const, target: 'n', first_seen: 1, version: 0 },
    person_id,
  });
  const { store } = recording((personId) => ({ links: [linkOf(personId)], capped: 2 }));
  const events = [{ distinct_id: 'u1', identify: true, previous_distinct_id: 'a1' }, { distinct_id: 'u2' }];
  const { entries, links, capped } = await identify(viewsOf(events), store, SECRET);
  expect(entries).toHaveLength(2);
  expect(links).toEqual(['u1', 'a1', 'u1', 'u2'].map((id) => linkOf(basePersonId('shop', id))));
  expect(capped).toBe(8);
});

test('an event without its coordinate is refused before the store is asked', async () => {
  const { asked, store } = recording();
  const views = viewsOf([{}, {}]).map((view, at) => (at === 1 ? { ...view, coordinate: null } : view));
  await expect(identify(views, store, SECRET)).rejects.toMatchObject({ code: 'coordinate_missing' });
  expect(asked).toEqual([]);
});

test('a store that cannot answer for one site fails the whole batch', async () => {
  const store: IdentityStore = {
    async resolve(siteId, questions) {
      if (siteId === 'broken') throw new Error('store is gone');
      return recording().store.resolve(siteId, questions);
    },
  };
  const events = [{ site_id: 'shop' }, { site_id: 'broken' }];
  await expect(identify(viewsOf(events), store, SECRET)).rejects.toThrow('store is gone');
});

const hashed = fc.option(fc.constantFrom('ab'.repeat(32), 'cd'.repeat(32)));
/** Events of few sites, visitors and identifiers, so that many meet. */
const eventLists: fc.Arbitrary<Partial<Event>[]> = fc.array(
  fc.record({
    site_id: fc.constantFrom('shop', 'other'),
    distinct_id: fc.constantFrom('v1', 'v2', 'v3'),
    received_at: fc.integer({ min: 1, max: 4 }),
    mode: fc.constantFrom('online' as const, 'offline' as const),
    identify: fc.boolean(),
    identifiers: fc.record({ email: hashed, phone: hashed }).map((some) => ({ ...NO_IDENTIFIERS, ...some })),
    previous_distinct_id: fc.option(fc.constantFrom('v1', 'v4'), { nil: null }),
  }),
  { minLength: 1, maxLength: 12 },
);

test('a batch that is cut anywhere says the same of every event as the whole one', async () => {
  await fc.assert(
    fc.asyncProperty(eventLists, fc.nat(12), async (events, cut) => {
      const views = viewsOf(events);
      const whole = await identify(views, createMemoryIdentity(3), SECRET);
      const store = createMemoryIdentity(3);
      const halves = [
        await identify(views.slice(0, cut), store, SECRET),
        await identify(views.slice(cut), store, SECRET),
      ];
      const seen = ({ entries }: Identified) => entries.map(({ coordinate, person }) => ({ coordinate, person }));
      expect(halves.flatMap(seen)).toEqual(seen(whole));
      expect(halves.reduce((sum, { capped }) => sum + capped, 0)).toBe(whole.capped);
      const bySite = (links: Identified['links']) => Map.groupBy(links, ({ site_id }) => site_id);
      const ofHalves = bySite(halves.flatMap(({ links }) => links));
      for (const [site, links] of bySite(whole.links)) expect(ofHalves.get(site)).toEqual(links);
      expect(halves.flatMap(({ links }) => links)).toHaveLength(whole.links.length);
    }),
    RUNS,
  );
});

test('every event has one question of its visitor, the last of its own, in the order of the events', () => {
  fc.assert(
    fc.property(eventLists, (events) => {
      const views = viewsOf(events);
      const questions = allLookups(views, SECRET);
      const indexes = questions.map(({ index }) => index);
      expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
      const ofVisitors = questions.filter(({ isOfVisitor }) => isOfVisitor);
      expect(ofVisitors.map(({ index }) => index)).toEqual([...views.keys()]);
      for (const { index, question } of ofVisitors) {
        const view = views[index];
        expect(question.basePersonId).toBe(basePersonId(view?.siteId ?? '', view?.distinctId ?? ''));
        expect(question.coordinate).toBe(`0:${index}:0`);
      }
      const lasts = questions.filter(({ index }, at) => questions[at + 1]?.index !== index);
      expect(ofVisitors).toEqual(lasts);
    }),
    RUNS,
  );
});
