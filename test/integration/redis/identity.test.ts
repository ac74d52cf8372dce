import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createIdentityStore, type IdentityIndex } from '#infra/redis/identity.ts';
import type { IdentityQuestion, IdentityStore } from '#pipelines/identity/resolve.ts';
import type { IdentityLink } from '#schemas/identity_link.ts';
import { expectedLeaders } from '#test/contract/identity/model.ts';
import { NO_IDENTIFIERS, question, questionLists } from '#test/contract/identity/questions.ts';
import { identityStoreSuite } from '#test/contract/identity/suite.ts';
import { beginEpoch, useRedis } from '../support/redis.ts';

const redis = useRedis();

identityStoreSuite('identity in Redis', (personsMax): IdentityStore => {
  const store = createIdentityStore(redis(), personsMax);
  return {
    async resolve(siteId, questions) {
      await beginEpoch(store.epoch);
      return store.resolve(siteId, questions);
    },
  };
});

async function learn(store: IdentityIndex, site: string, questions: readonly IdentityQuestion[]) {
  await beginEpoch(store.epoch);
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
      links.map((link) => [JSON.stringify([link.kind, link.person_id, link.kind === 'edge' && link.target]), link]),
    ).values(),
  ];
}

test('links alone, compacted and in any order, make the same people of an empty Redis', async () => {
  const store = createIdentityStore(redis());
  await fc.assert(
    fc.asyncProperty(fc.gen(), questionLists('run'), async (gen, questions) => {
      const site = randomUUID();
      const links = compacted(await learn(store, site, questions));
      const order = <T>(all: T[]): T[] => gen(() => fc.shuffledSubarray(all, { minLength: all.length }));
      await redis().flushall();
      await store.restoreLinks(site, order(links.filter(({ kind }) => kind === 'person')));
      await store.restoreLinks(site, order(links.filter(({ kind }) => kind === 'edge')));
      await beginEpoch(store.epoch);
      const expected = expectedLeaders(questions);
      expect(await peopleIn(store, site, [...expected.keys()])).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});

test('an emptied Redis is not asked before it was taught again, and knows identifiers and versions then', async () => {
  const store = createIdentityStore(redis());
  const site = randomUUID();
  const email = { ...NO_IDENTIFIERS, email: 'e'.repeat(64) };
  const asked = question(site, 'p_1', { nodes: ['n'], identifiers: email });
  const before = await learn(store, site, [asked]);
  await redis().flushall();
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
