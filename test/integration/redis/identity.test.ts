import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createIdentityStore, type IdentityIndex } from '#infra/redis/indexes/identity_index.ts';
import {
  type IdentityAnswer,
  type IdentityLookup,
  type IdentityStore,
  RESTORE_PASSES,
  splitPlan,
} from '#pipelines/identity/identity.ts';
import { type IdentityLink, isOfNode } from '#schemas/records.ts';
import { createMemoryIdentity } from '#test/contract/identity/memory_identity.ts';
import { expectedLeaders } from '#test/contract/identity/model.ts';
import { claimLists, NO_IDENTIFIERS, question, questionLists, spokenLists } from '#test/contract/identity/questions.ts';
import { identityStoreSuite } from '#test/contract/identity/suite.ts';
import { cases } from '#test/harness/environment.ts';
import { beginIncarnation, onCluster, useRedis } from '#test/harness/redis.ts';

const redis = useRedis();

identityStoreSuite('identity in Redis', (personsMax): IdentityStore => {
  const store = createIdentityStore(redis(), personsMax);
  return {
    async resolve(siteId, questions) {
      await beginIncarnation(store.epoch);
      return store.resolve(siteId, questions);
    },
  };
});

async function learn(store: IdentityIndex, site: string, questions: readonly IdentityLookup[]) {
  await beginIncarnation(store.epoch);
  const answers = await store.resolve(site, questions);
  return answers.flatMap(({ links }) => links);
}

async function peopleIn(store: IdentityIndex, site: string, persons: readonly string[]): Promise<Map<string, string>> {
  const answers = await store.resolve(
    site,
    persons.map((person) => question(site, person)),
  );
  return new Map(persons.map((person, index) => [person, answers[index]?.personId ?? '']));
}

/** What compaction may leave: the last record of each key, in whatever order. */
function compacted(links: readonly IdentityLink[]): IdentityLink[] {
  return [
    ...new Map(
      links.map((link) => [JSON.stringify([link.kind, link.person_id, isOfNode(link) && link.target]), link]),
    ).values(),
  ];
}

/** Empties Redis and teaches it these links again, in the passes of a rebuild and in a drawn order within each. */
async function rebuild(store: IdentityIndex, site: string, links: readonly IdentityLink[], gen: fc.GeneratorValue) {
  await redis().flushdb();
  for (const isOfPass of RESTORE_PASSES) {
    const ones = links.filter(isOfPass);
    await store.restoreLinks(
      site,
      gen(() => fc.shuffledSubarray(ones, { minLength: ones.length })),
    );
  }
  await beginIncarnation(store.epoch);
}

const capOf = (gen: fc.GeneratorValue): number => gen(() => fc.integer({ min: 1, max: 5 }));

/** As the versions before wrote it. */
const withoutDecision = ({ decision: _decision, ...link }: IdentityLink): IdentityLink => link;

test('links alone, compacted and in any order, make the same people of an empty Redis', async () => {
  const store = createIdentityStore(redis());
  await fc.assert(
    fc.asyncProperty(fc.gen(), questionLists('run'), fc.boolean(), async (gen, questions, isOld) => {
      const site = randomUUID();
      const links = compacted(await learn(store, site, questions));
      await rebuild(store, site, isOld ? links.map(withoutDecision) : links, gen);
      const expected = expectedLeaders(questions);
      expect(await peopleIn(store, site, [...expected.keys()])).toEqual(expected);
    }),
    { numRuns: cases(60) },
  );
});

test.for([
  ['who was capped is capped again', questionLists],
  ['whose a distinct id is it stays', claimLists],
] as const)('%s after a rebuild, and whatever is asked is answered as if nothing had been lost', async ([, lists]) => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), lists('run'), lists('later'), async (gen, questions, more) => {
      const cap = capOf(gen);
      const store = createIdentityStore(redis(), cap);
      const memory = createMemoryIdentity(cap);
      const site = randomUUID();
      await memory.resolve(site, questions);
      const links = compacted(await learn(store, site, questions));
      await rebuild(store, site, links, gen);
      const again = [...more, ...questions].map((one, at) => ({ ...one, coordinate: `1:${at}:0` }));
      const asked = [...EVERYBODY.map((person) => question(site, person)), ...again];
      const decided = (answers: readonly IdentityAnswer[]) =>
        answers.map(({ personId, capped }) => ({ personId, capped }));
      expect(decided(await store.resolve(site, asked))).toEqual(decided(await memory.resolve(site, asked)));
    }),
    { numRuns: cases(150), endOnFailure: true },
  );
});

test('what browsers’ keys said joins the same people after a rebuild, and servers take over the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), spokenLists('run'), questionLists('later'), async (gen, questions, more) => {
      const store = createIdentityStore(redis());
      const memory = createMemoryIdentity(100);
      const site = randomUUID();
      await memory.resolve(site, questions);
      const links = compacted(await learn(store, site, questions));
      const before = await peopleIn(store, site, EVERYBODY);
      await rebuild(store, site, links, gen);
      expect(await peopleIn(store, site, EVERYBODY)).toEqual(before);
      const asked = more.map((one, at) => ({ ...one, coordinate: `1:${at}:0` }));
      const answers = await store.resolve(site, asked);
      expect(answers.map(({ personId }) => personId)).toEqual(
        (await memory.resolve(site, asked)).map(({ personId }) => personId),
      );
    }),
    { numRuns: cases(100), endOnFailure: true },
  );
});

const EVERYBODY = Array.from({ length: 8 }, (_, at) => `p_${at}`);

test('what was decided by events that were lost with Redis before they were committed stays decided for the others', async () => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), questionLists('run'), async (gen, questions) => {
      const store = createIdentityStore(redis(), capOf(gen));
      const site = randomUUID();
      const committed = new Set(gen(() => fc.subarray(questions)));
      const links: IdentityLink[] = [];
      for (const one of questions) {
        const written = await learn(store, site, [one]);
        if (committed.has(one)) links.push(...written);
      }
      const capped = compacted(links).filter(({ decision }) => decision === 'capped');
      await rebuild(store, site, compacted(links), gen);
      for (const { person_id, target } of capped) {
        const [answer] = await store.resolve(site, [
          question(site, person_id, { nodes: [target], coordinate: '2:0:0' }),
        ]);
        expect(answer?.capped).toBe(1);
      }
    }),
    { numRuns: cases(100), endOnFailure: true },
  );
});

test('links that do not say what was decided make the same people, and nobody joins those who filled a till', async () => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), questionLists('run'), async (gen, questions) => {
      const store = createIdentityStore(redis(), capOf(gen));
      const site = randomUUID();
      const links = compacted(await learn(store, site, questions)).map(withoutDecision);
      const before = await peopleIn(store, site, EVERYBODY);
      await rebuild(store, site, links, gen);
      expect(await peopleIn(store, site, EVERYBODY)).toEqual(before);
    }),
    { numRuns: cases(60), endOnFailure: true },
  );
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (gen) => {
      const store = createIdentityStore(redis(), 3);
      const site = randomUUID();
      const at = (person: string, index: number) =>
        question(site, person, { nodes: ['till'], receivedAtMs: index, coordinate: `0:${index}:0` });
      const links = await learn(store, site, ['g_1', 'g_2', 'g_3', 'x', 'y'].map(at));
      await rebuild(store, site, links.map(withoutDecision), gen);
      const answers = await store.resolve(
        site,
        ['x', 'y', 'z', 'g_2'].map((person, index) => at(person, index + 9)),
      );
      expect(answers.map(({ personId }) => personId)).toEqual(['x', 'y', 'z', 'g_1']);
    }),
    { numRuns: cases(20), endOnFailure: true },
  );
});

test('an emptied Redis is not asked before it was taught again, and knows identifiers and versions then', async () => {
  const store = createIdentityStore(redis());
  const site = randomUUID();
  const email = { ...NO_IDENTIFIERS, email: 'e'.repeat(64) };
  const asked = question(site, 'p_1', { nodes: ['n'], identifiers: email });
  const before = await learn(store, site, [asked]);
  await redis().flushdb();
  await expect(store.resolve(site, [asked])).rejects.toMatchObject({ code: 'index_lost' });
  expect(await redis().keys('*')).toEqual([]);
  const future = before.map((link) => (link.kind === 'person' ? { ...link, version: link.version + 1e9 } : link));
  await store.restoreLinks(site, future);
  await store.restoreQuestions(site, [asked]);
  const after = await learn(store, site, [
    question(site, 'p_2', { nodes: ['n'], receivedAtMs: 9e12, coordinate: '1:1:1' }),
  ]);
  expect(after.filter(({ kind }) => kind === 'person').map(({ target }) => target)).toEqual(['p_1', 'p_1']);
  expect(Math.min(...after.filter(({ kind }) => kind === 'person').map(({ version }) => version))).toBeGreaterThan(
    Math.max(...future.map(({ version }) => version)),
  );
  expect((await store.resolve(site, [question(site, 'p_2')]))[0]?.identifiers).toEqual(email);
});

test('what was not believed of a person is not known of them after a rebuild either', async () => {
  const store = createIdentityStore(redis());
  const site = randomUUID();
  const emailOf = (deadLetter: string) => ({
    ...NO_IDENTIFIERS,
    email: deadLetter.repeat(64),
    first_name: deadLetter.repeat(64),
  });
  const asked = [
    question(site, 'anna', { nodes: ['a'], identifiers: emailOf('a') }),
    question(site, 'ben', { nodes: ['b'], identifiers: emailOf('b'), coordinate: '0:1:0' }),
    question(site, 'anna', { nodes: ['b'], identifiers: emailOf('b'), coordinate: '0:2:0', isPublic: true }),
    question(site, 'anna', { nodes: ['c'], identifiers: emailOf('c'), coordinate: '0:3:0', isPublic: true }),
  ];
  const links = await learn(store, site, asked);
  await redis().flushdb();
  for (const isOfPass of RESTORE_PASSES) await store.restoreLinks(site, links.filter(isOfPass));
  await store.restoreQuestions(site, [...asked.slice(2, 3), ...asked.slice(0, 2), ...asked.slice(3)]);
  await beginIncarnation(store.epoch);
  const answers = await store.resolve(
    site,
    ['anna', 'ben'].map((person) => question(site, person)),
  );
  expect(answers.map(({ identifiers }) => identifiers)).toEqual([emailOf('a'), emailOf('b')]);
});

test('sites that are asked about at one moment share scripts, and each has its own answers', async () => {
  let scripts = 0;
  const counted = new Proxy(redis(), {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (name === 'evalsha') scripts++;
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
  const store = createIdentityStore(counted);
  await beginIncarnation(store.epoch);
  const sites = Array.from({ length: 700 }, () => randomUUID());
  const big = randomUUID();
  const many = Array.from({ length: 1_200 }, (_, at) => question(big, `p_${at}`, { nodes: [`n_${at}`] }));
  scripts = 0;
  const [answers, ofBig] = await Promise.all([
    Promise.all(sites.map((site, at) => store.resolve(site, [question(site, `p_${at}`, { nodes: ['n'] })]))),
    store.resolve(big, many),
  ]);
  // In a cluster the sites lie in sixteen slots.
  expect(scripts).toBe(onCluster() ? 16 + 3 : 5);
  expect(answers.map(([answer]) => answer?.personId)).toEqual(sites.map((_, at) => `p_${at}`));
  expect(ofBig.map(({ personId }) => personId)).toEqual(many.map((_, at) => `p_${at}`));
});

test('two strangers whom a shared address made one are split, and stay apart whatever comes and is lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), questionLists('run'), async (gen, questions) => {
      const store = createIdentityStore(redis());
      const site = randomUUID();
      const before = await learn(store, site, questions);
      const people = await peopleIn(store, site, EVERYBODY);
      const [leader = '', members = []] =
        [...Map.groupBy(EVERYBODY, (person) => people.get(person) ?? '')].find(([, all]) => all.length > 1) ?? [];
      fc.pre(members.length > 1);
      const others = members.filter((person) => person !== leader);
      const moved = new Set(gen(() => fc.subarray(others, { minLength: 1 })));
      const taken = new Set(gen(() => fc.subarray(['n_0', 'n_1', 'n_2', 'n_3'])));
      const plan = splitPlan(members, (person) => moved.has(person), before, taken);
      const written = (await store.split(site, plan)) ?? [];
      // What was resolved before the split may be committed behind it.
      const late = gen(() => fc.subarray(before));
      const links = compacted([...before, ...written, ...late]);
      const isApart = async (): Promise<boolean> => {
        const after = await peopleIn(store, site, members);
        return members.every((person) => (after.get(person) === leader) === !moved.has(person));
      };
      expect(await isApart()).toBe(true);
      const again = questions.map((one, at) => ({ ...one, coordinate: `1:${at}:0` }));
      const asked = await learn(store, site, again);
      expect(await isApart()).toBe(true);
      await rebuild(
        store,
        site,
        gen(() => fc.constantFrom(links, compacted([...links, ...asked]))),
        gen,
      );
      expect(await isApart()).toBe(true);
      await store.resolve(site, again);
      expect(await isApart()).toBe(true);
    }),
    { numRuns: cases(200), endOnFailure: true },
  );
});

test('a split that Redis lost with its last second is made again in what it kept', async () => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), questionLists('run'), async (gen, questions) => {
      const store = createIdentityStore(redis());
      const site = randomUUID();
      const copy = randomUUID();
      const before = await learn(store, site, questions);
      await learn(store, copy, questions);
      const people = await peopleIn(store, site, EVERYBODY);
      const [leader = '', members = []] =
        [...Map.groupBy(EVERYBODY, (person) => people.get(person) ?? '')].find(([, all]) => all.length > 1) ?? [];
      fc.pre(members.length > 1);
      const others = members.filter((person) => person !== leader);
      const moved = new Set(gen(() => fc.subarray(others, { minLength: 1 })));
      const written =
        (await store.split(
          site,
          splitPlan(members, (one) => moved.has(one), before),
        )) ?? [];
      for (const isOfPass of RESTORE_PASSES) {
        const ones = [...before, ...written].filter(isOfPass).map((link) => ({ ...link, site_id: copy }));
        await store.restoreLinks(
          copy,
          gen(() => fc.shuffledSubarray(ones, { minLength: ones.length })),
        );
      }
      expect(await peopleIn(store, copy, EVERYBODY)).toEqual(await peopleIn(store, site, EVERYBODY));
    }),
    { numRuns: cases(100), endOnFailure: true },
  );
});
