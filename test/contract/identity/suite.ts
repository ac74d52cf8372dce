import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { basePersonId, type IdentityLookup, type IdentityStore, lookupsOf } from '#pipelines/identity/identity.ts';
import type { Identifiers } from '#schemas/event.ts';
import type { IdentityPart } from '#schemas/event_batch.ts';
import type { IdentityLink } from '#schemas/records.ts';
import { cases } from '#test/harness/environment.ts';
import { expectedLeaders, leadersOf } from './model.ts';
import { NO_IDENTIFIERS, question, questionLists } from './questions.ts';

/** What every identity store must do. Each test and each run asks about a site of its own. */
export function identityStoreSuite(name: string, create: (personsMax: number) => IdentityStore): void {
  const NO_CAP = 1_000;

  describe(name, () => {
    test('who never linked is themselves', async () => {
      const [answer] = await create(NO_CAP).resolve('s', [question(randomUUID(), 'p_1')]);
      expect(answer).toEqual({ personId: 'p_1', identifiers: null, links: [], capped: 0 });
    });

    test('any order, cut and repetition gives the same people', async () => {
      const store = create(NO_CAP);
      await fc.assert(
        fc.asyncProperty(fc.gen(), questionLists('run'), async (gen, questions) => {
          const often = gen(() => fc.array(fc.integer({ min: 0, max: questions.length - 1 }), { maxLength: 10 }));
          const order = gen(() => fc.shuffledSubarray(allTwice(questions, often), { minLength: 0 }));
          const site = randomUUID();
          const asked = [...order, ...questions.filter((one) => !order.includes(one))];
          const cut = gen(() => fc.integer({ min: 1, max: 5 }));
          for (let at = 0; at < asked.length; at += cut) await store.resolve(site, asked.slice(at, at + cut));
          expect(await leadersIn(store, site, questions)).toEqual(expectedLeaders(questions));
        }),
        { numRuns: cases(80) },
      );
    });

    test('links that were written say the same people, though every batch may have been tried and lost before', async () => {
      const store = create(NO_CAP);
      await fc.assert(
        fc.asyncProperty(fc.gen(), questionLists('run'), async (gen, questions) => {
          const site = randomUUID();
          const batches = inBatches(
            questions,
            gen(() => fc.integer({ min: 1, max: 4 })),
          );
          const lost = gen(() => fc.array(fc.integer({ min: 0, max: batches.length - 1 }), { maxLength: 8 }));
          const schedule = gen(() => fc.shuffledSubarray([...lost, ...batches.keys()], { minLength: 0 }));
          const turns = [...schedule, ...[...batches.keys()].filter((batch) => !schedule.includes(batch))];
          const written: IdentityLink[] = [];
          for (const [turn, batch] of turns.entries()) {
            const answers = await store.resolve(site, batches[batch] ?? []);
            // Only the last try of a batch commits.
            if (turns.lastIndexOf(batch) === turn) written.push(...answers.flatMap(({ links }) => links));
          }
          expect(leadersOf(written)).toEqual(expectedLeaders(questions));
        }),
        { numRuns: cases(80) },
      );
    });

    test('every identifier that links is written as an edge, each time it is asked', async () => {
      const store = create(NO_CAP);
      const site = randomUUID();
      const asked = question(site, 'p_1', { nodes: ['n_1', 'n_2'], receivedAtMs: 5 });
      const edge = {
        site_id: site,
        kind: 'edge',
        person_id: 'p_1',
        first_seen: 5,
        version: 0,
        decision: 'joined',
        is_hearsay: false,
      };
      for (let times = 0; times < 2; times++) {
        const [answer] = await store.resolve(site, [asked]);
        expect(answer?.links.filter(({ kind }) => kind === 'edge')).toEqual([
          { ...edge, target: 'n_1' },
          { ...edge, target: 'n_2' },
        ]);
      }
    });

    test('versions of a site only grow', async () => {
      const store = create(NO_CAP);
      const site = randomUUID();
      const versions: number[] = [];
      for (let person = 0; person < 30; person++) {
        const asked = question(site, `p_${person}`, { nodes: ['n'], coordinate: `0:${person}:0` });
        const [answer] = await store.resolve(site, [asked]);
        versions.push(...new Set(answer?.links.filter(({ kind }) => kind === 'person').map((link) => link.version)));
      }
      expect(versions).toHaveLength(30);
      expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
    });

    test('a person grows to the cap and not past it', async () => {
      const store = create(3);
      const site = randomUUID();
      const questions = Array.from({ length: 6 }, (_, index) =>
        question(site, `p_${index}`, { nodes: ['shared'], coordinate: `0:${index}:0`, receivedAtMs: index }),
      );
      const answers = await store.resolve(site, questions);
      expect(answers.map(({ capped }) => capped)).toEqual([0, 0, 0, 1, 1, 1]);
      expect(answers.map(({ personId }) => personId)).toEqual(['p_0', 'p_0', 'p_0', 'p_3', 'p_4', 'p_5']);
      const edges = answers.flatMap(({ links }) => links).filter(({ kind }) => kind === 'edge');
      const decisions = ['joined', 'joined', 'joined', 'capped', 'capped', 'capped'];
      expect(edges.map(({ decision }) => decision)).toEqual(decisions);
    });

    test('a person who is one user’s is no other’s, unless the claim does not yield', async () => {
      const store = create(NO_CAP);
      const site = randomUUID();
      const claims = (person: string, user: string, yields: boolean, at: number) => {
        const node = `u:${user}`;
        return question(site, person, {
          nodes: [node],
          claim: { node, yields },
          coordinate: `0:${at}:0`,
          receivedAtMs: at,
        });
      };
      const first = [claims('p_1', 'a', true, 1), claims('p_1', 'b', true, 2), claims('p_2', 'b', true, 3)];
      const answers = await store.resolve(site, [...first, ...first, claims('p_1', 'b', false, 4)]);
      expect(answers.map(({ personId }) => personId)).toEqual(['p_1', 'p_1', 'p_2', 'p_1', 'p_1', 'p_2', 'p_1']);
      expect(answers.map(({ capped }) => capped)).toEqual([0, 1, 0, 0, 1, 0, 0]);
      const edges = answers.map(({ links }) => links.filter(({ kind }) => kind === 'edge').map(({ target }) => target));
      expect(edges).toEqual([['u:a'], [], ['u:b'], ['u:a'], [], ['u:b'], ['u:b']]);
      expect((await store.resolve(site, [question(site, 'p_2')]))[0]?.personId).toBe('p_1');
    });

    test('what anybody can say by a browser’s key joins no two of whom something is known, and what a server says does', async () => {
      const store = create(NO_CAP);
      const site = randomUUID();
      let at = 0;
      const says = (person: string, nodes: string[], isPublic = true) => {
        at += 1;
        return question(site, person, { nodes, isPublic, coordinate: `0:${at}:0`, receivedAtMs: at });
      };
      const people = [says('p_a', ['a']), says('p_b', ['b'])];
      const poison = [says('p_x', ['a']), says('p_x', ['b']), says('p_y', ['a', 'b']), says('p_a', ['b'])];
      const answers = await store.resolve(site, [...people, ...poison, ...poison]);
      const persons = ['p_a', 'p_a', 'p_a', 'p_a'];
      expect(answers.map(({ personId }) => personId)).toEqual(['p_a', 'p_b', ...persons, ...persons]);
      expect(answers.map(({ capped }) => capped)).toEqual([0, 0, 0, 1, 1, 1, 0, 1, 1, 1]);
      const targets = answers.map(({ links }) =>
        links.flatMap(({ kind, target }) => (kind === 'edge' ? [target] : [])),
      );
      expect(targets.slice(2, 6)).toEqual([['a'], [], ['a'], []]);
      const [joined] = await store.resolve(site, [says('p_x', ['b'], false)]);
      expect([joined?.personId, joined?.capped]).toEqual(['p_a', 0]);
    });

    test('an event joins two ids of its visitor of which it says the first itself, by whatever key', async () => {
      const store = create(NO_CAP);
      const site = randomUUID();
      const says = (person: string, node: string, at: number) =>
        question(site, person, { nodes: [node], isPublic: true, coordinate: `0:${at}:0`, receivedAtMs: at });
      const answers = await store.resolve(site, [
        ...[says('p_user', 'e', 1), says('p_user', 'u:user', 2), says('p_anon', 'u:user', 2)],
        ...[says('p_old', 'f', 3), says('p_new', 'u:new', 4), says('p_old', 'u:new', 4), question(site, 'p_new')],
      ]);
      const persons = ['p_user', 'p_user', 'p_user', 'p_old', 'p_new', 'p_old', 'p_old'];
      expect(answers.map(({ personId }) => personId)).toEqual(persons);
    });

    test.for([true, false])(
      'who was said to be another by a browser’s key stays apart at a login (by a browser: %s)',
      async (isPublic) => {
        const store = create(NO_CAP);
        const site = randomUUID();
        let offset = 0;
        const asks = (distinctId: string, changes: Partial<IdentityPart>) => {
          offset += 1;
          const coordinate = { partition: 0, offset, index: 0 };
          const event = {
            siteId: site,
            distinctId,
            basePersonId: basePersonId(site, distinctId),
            receivedAtMs: offset,
            coordinate,
          };
          const part = {
            mode: 'online',
            identify: true,
            identifiers: null,
            previous_distinct_id: null,
            event: '$identify',
          } as const;
          return lookupsOf(Buffer.alloc(32), event, { ...part, caller: 'server', ...changes });
        };
        const customers = Array.from({ length: 5 }, (_, at) => `${at}`);
        const orders = customers.flatMap((id) =>
          asks(id, { identifiers: { ...NO_IDENTIFIERS, email: id.repeat(64) } }),
        );
        const attacks = customers.map((id, at) =>
          asks(id, { caller: 'browser', previous_distinct_id: customers[at - 1] ?? '4' }),
        );
        const logins = customers.map((id) =>
          asks(id, { caller: isPublic ? 'browser' : 'server', previous_distinct_id: `laptop ${id}` }),
        );
        await store.resolve(site, orders);
        const said = await store.resolve(site, attacks.flat());
        const edges = said.flatMap(({ links }) => links).filter(({ kind }) => kind === 'edge');
        expect(edges.map(({ person_id }) => person_id)).toEqual(customers.map((id) => basePersonId(site, id)));
        for (const login of logins) await store.resolve(site, login);
        const persons = [...customers, ...customers.map((id) => `laptop ${id}`)].map((id) => basePersonId(site, id));
        const answers = await store.resolve(
          site,
          persons.map((person) => question(site, person)),
        );
        expect(answers.map(({ personId }) => personId)).toEqual([...persons.slice(0, 5), ...persons.slice(0, 5)]);
      },
    );

    test('what browsers’ keys alone have said joins no two whom servers know, and is whose a server says it to be', async () => {
      const store = create(NO_CAP);
      const site = randomUUID();
      const hash = (deadLetter: string) => deadLetter.repeat(64);
      let at = 0;
      const says = (isPublic: boolean, person: string, said: Partial<Identifiers>) => {
        at += 1;
        const identifiers = { ...NO_IDENTIFIERS, ...said };
        const nodes = [identifiers.email, identifiers.phone].filter((one) => one !== null);
        return question(site, person, { nodes, identifiers, isPublic, coordinate: `0:${at}:0`, receivedAtMs: at });
      };
      const persons = async (...questions: IdentityLookup[]) =>
        (await store.resolve(site, questions)).map(({ personId }) => personId);
      const email = (deadLetter: string) => ({ email: hash(deadLetter) });
      // Of somebody whom servers know a browser says nothing new.
      const ann = says(false, 'ann', email('a'));
      expect(await persons(ann, says(true, 'x', email('a')), says(true, 'x', { phone: hash('1') }))).toEqual([
        'ann',
        'ann',
        'ann',
      ]);
      const bob = says(false, 'bob', { ...email('b'), phone: hash('1') });
      expect(await persons(bob, question(site, 'ann'))).toEqual(['bob', 'ann']);
      // Nor what one has said of two before a server did, once servers know both.
      const said = [says(true, 'y', email('c')), says(true, 'y', email('d'))];
      const servers = [says(false, 'carl', email('c')), says(false, 'dora', { phone: hash('4') })];
      expect(await persons(...said, ...servers)).toEqual(['y', 'y', 'y', 'dora']);
      const dora = says(false, 'dora', { ...email('d'), phone: hash('4') });
      const eve = says(false, 'eve', { ...email('e'), phone: hash('4') });
      expect(await persons(dora, eve)).toEqual(['dora', 'dora']);
      const later = [says(false, 'till', email('d')), says(true, 'y', email('d')), says(true, 'z', email('d'))];
      expect(await persons(...later)).toEqual(['dora', 'y', 'dora']);
      // A sale that names a visitor's address alone is theirs, though a server knows them.
      const order = question(site, 'w', { nodes: ['customer w'], coordinate: '1:1:1' });
      expect(await persons(says(true, 'w', email('7')), order, says(false, 'shop', email('7')))).toEqual([
        'w',
        'w',
        'w',
      ]);
      const [{ identifiers } = { identifiers: null }] = await store.resolve(site, [question(site, 'carl')]);
      expect(identifiers).toEqual({ ...NO_IDENTIFIERS, ...email('c') });
    });

    test('an order of a server that names nobody makes its customer known', async () => {
      const store = create(NO_CAP);
      const site = randomUUID();
      let offset = 0;
      const asks = (distinctId: string, caller: 'browser' | 'server', changes: Partial<IdentityPart> = {}) => {
        offset += 1;
        const event = {
          siteId: site,
          distinctId,
          basePersonId: basePersonId(site, distinctId),
          receivedAtMs: offset,
          coordinate: { partition: 0, offset, index: 0 },
        };
        const part: IdentityPart = {
          mode: 'online',
          identify: true,
          identifiers: null,
          previous_distinct_id: null,
          event: 'purchase',
          caller,
          ...changes,
        };
        return lookupsOf(Buffer.alloc(32), event, part);
      };
      const email = (deadLetter: string) => ({ identifiers: { ...NO_IDENTIFIERS, email: deadLetter.repeat(64) } });
      const order = () => asks('b', 'server');
      const attacks = [asks('b', 'browser', email('e')), asks('a', 'browser', { previous_distinct_id: 'b' })];
      await store.resolve(
        site,
        [asks('a', 'server', email('a')), order(), ...attacks, asks('e', 'server', email('e'))].flat(),
      );
      const answers = await store.resolve(
        site,
        ['a', 'b', 'e'].flatMap((id) => asks(id, 'server')),
      );
      expect(answers.map(({ personId, identifiers }) => [personId, identifiers?.email ?? null])).toEqual([
        [basePersonId(site, 'a'), 'a'.repeat(64)],
        [basePersonId(site, 'b'), null],
        [basePersonId(site, 'e'), 'e'.repeat(64)],
      ]);
      // Its own browser, which said who it is before, is one with it.
      const later = [asks('u', 'browser', { previous_distinct_id: 'k', ...email('f') }), asks('k', 'server')].flat();
      expect((await store.resolve(site, later)).at(-1)?.identifiers?.email).toBe('f'.repeat(64));
    });

    test('browsers’ keys say five identifiers of a person and fill half of it, and leave the rest to servers', async () => {
      const store = create(4);
      const site = randomUUID();
      const says = (person: string, node: string, at: number, isPublic = true) =>
        question(site, person, { nodes: [node], isPublic, coordinate: `0:${at}:0`, receivedAtMs: at });
      const names = ['a', 'b', 'c', 'd', 'e', 'f', 'a', 'u:p'];
      const own = await store.resolve(site, [
        ...names.map((name, at) => says('p_1', name, at)),
        says('p_1', 'f', 9, false),
      ]);
      expect(own.map(({ capped }) => capped)).toEqual([0, 0, 0, 0, 0, 1, 0, 0, 0]);
      const joins = ['p_2', 'p_3', 'p_4'].map((person, at) => says(person, 'a', 10 + at));
      const devices = await store.resolve(site, [...joins, says('p_3', 'a', 20, false), says('p_4', 'a', 21, false)]);
      expect(devices.map(({ personId }) => personId)).toEqual(['p_1', 'p_3', 'p_4', 'p_1', 'p_1']);
    });

    describe('what is known of a person', () => {
      const hash = (deadLetter: string) => deadLetter.repeat(64);
      const said = (changes: Partial<Identifiers>) => ({ ...NO_IDENTIFIERS, ...changes });
      const ANNA = said({ email: hash('a'), email_google: hash('b'), phone: hash('1') });

      /** What is known of Anna after events, whose identifiers link by their own hashes. */
      async function knownAfter(events: readonly Partial<IdentityLookup>[], personsMax = NO_CAP) {
        const store = create(personsMax);
        const site = randomUUID();
        const all = [{ identifiers: ANNA }, ...events].map((changes, at) => {
          const { email, phone, external_id } = changes.identifiers ?? NO_IDENTIFIERS;
          const nodes = [email, phone, external_id].filter((one) => one !== null);
          return question(site, 'anna', { nodes, receivedAtMs: at, coordinate: `0:${at}:0`, ...changes });
        });
        const answers = await store.resolve(site, [...all, question(site, 'anna')]);
        return answers.at(-1)?.identifiers;
      }

      test.for<[string, Partial<IdentityLookup>[], Identifiers, number?]>([
        [
          'is not what somebody else says on her laptop by a browser’s key',
          [
            { basePersonId: 'ben', identifiers: said({ email: hash('c'), first_name: hash('d') }) },
            { isPublic: true, identifiers: said({ email: hash('c'), first_name: hash('d'), external_id: hash('e') }) },
          ],
          ANNA,
        ],
        [
          'is none of six made-up addresses, however often they are said',
          '2 3 4 5 6 7 2 3 4 5 6 7'.split(' ').map((deadLetter) => ({
            isPublic: true,
            identifiers: said({ email: hash(deadLetter), email_google: hash('8'), email_stripped: hash('9') }),
          })),
          ANNA,
        ],
        [
          'is not what a browser’s key says of what was not known, as a server knows her',
          [
            { isPublic: true, identifiers: said({ email: hash('a'), external_id: hash('5'), last_name: hash('6') }) },
            { isPublic: true, identifiers: said({ email: hash('a'), first_name: hash('6') }) },
          ],
          ANNA,
        ],
        [
          'is what a browser’s key says of a visitor whom no server knows',
          [
            { basePersonId: 'x', isPublic: true, identifiers: said({ email: hash('0'), last_name: hash('6') }) },
            { basePersonId: 'x', isPublic: true, identifiers: said({ email: hash('2'), external_id: hash('3') }) },
            { nodes: [hash('0')], identifiers: said({ email: hash('0') }) },
            { basePersonId: 'anna', nodes: [], identifiers: null },
          ],
          said({ email: hash('0'), phone: hash('1'), external_id: hash('3'), last_name: hash('6') }),
        ],
        [
          'is not what a new id has that a browser’s key says to be hers',
          [
            { basePersonId: 'x', isPublic: true, coordinate: '1:1:1', identifiers: said({ email: hash('0') }) },
            { basePersonId: 'x', isPublic: true, coordinate: '1:1:1', nodes: ['u:x'] },
            { isPublic: true, coordinate: '1:1:1', nodes: ['u:x'] },
          ],
          ANNA,
        ],
        [
          'is a new address that a server says, and nothing of before, which may be somebody else’s',
          [{ identifiers: said({ email: hash('f'), email_stripped: hash('e') }) }],
          said({ email: hash('f'), email_stripped: hash('e') }),
        ],
        [
          'is a number that a server says beside the address',
          [{ identifiers: said({ email: hash('a'), email_google: hash('b'), external_id: hash('7') }) }],
          { ...ANNA, external_id: hash('7') },
        ],
        [
          'is not an old address that the past of the site has',
          [{ isHistorical: true, identifiers: said({ email: hash('f'), first_name: hash('6') }) }],
          ANNA,
        ],
        [
          'is what the past of the site has of what was not known',
          [
            {
              isHistorical: true,
              identifiers: said({ email: hash('a'), email_google: hash('f'), external_id: hash('7') }),
            },
          ],
          { ...ANNA, external_id: hash('7') },
        ],
        [
          'is not an address of so many that it joins nobody more, said by a server',
          [
            { basePersonId: 'till', identifiers: said({ email: hash('f') }) },
            { basePersonId: 'ben', identifiers: said({ email: hash('f') }) },
            { identifiers: said({ email: hash('f'), external_id: hash('5'), first_name: hash('6') }) },
          ],
          { ...ANNA, external_id: hash('5') },
          2,
        ],
      ])('%s', async ([, events, expected, personsMax]) => {
        expect(await knownAfter(events, personsMax)).toEqual(expected);
      });
    });

    test('an event that says nothing is answered by what was known where it stands', async () => {
      const store = create(NO_CAP);
      const site = randomUUID();
      const joins = (person: string, receivedAtMs: number) => question(site, person, { nodes: ['n'], receivedAtMs });
      const answers = await store.resolve(site, [
        question(site, 'p_2'),
        question(site, 'p_3'),
        question(site, 'p_2'),
        joins('p_1', 1),
        question(site, 'p_2'),
        joins('p_2', 2),
        question(site, 'p_3'),
        question(site, 'p_2'),
        question(site, 'p_2'),
      ]);
      const persons = ['p_2', 'p_3', 'p_2', 'p_1', 'p_2', 'p_1', 'p_3', 'p_1', 'p_1'];
      expect(answers.map(({ personId }) => personId)).toEqual(persons);
    });

    test('thousands of visitors are told apart in one batch', async () => {
      const store = create(NO_CAP);
      const site = randomUUID();
      const email = { ...NO_IDENTIFIERS, email: 'e'.repeat(64) };
      await store.resolve(site, [question(site, 'p_2345', { nodes: ['n'], identifiers: email })]);
      const persons = Array.from({ length: 5_000 }, (_, index) => `p_${index % 2_500}`);
      const answers = await store.resolve(
        site,
        persons.map((person) => question(site, person)),
      );
      expect(answers.map(({ personId }) => personId)).toEqual(persons);
      const known = answers.flatMap(({ identifiers, personId }) => (identifiers === null ? [] : [personId]));
      expect(known).toEqual(['p_2345', 'p_2345']);
    });

    test('what is known of one is known of all who are them', async () => {
      const store = create(NO_CAP);
      const site = randomUUID();
      const email = { ...NO_IDENTIFIERS, email: 'e'.repeat(64) };
      const phone = { ...NO_IDENTIFIERS, phone: 'f'.repeat(64) };
      const answers = await store.resolve(site, [
        question(site, 'p_1', { nodes: ['e'], identifiers: email, receivedAtMs: 2 }),
        question(site, 'p_2', { nodes: ['f'], identifiers: phone, receivedAtMs: 1 }),
        question(site, 'p_1', { nodes: ['e', 'f'], identifiers: null, receivedAtMs: 3 }),
        question(site, 'p_2'),
      ]);
      const both = { ...email, phone: phone.phone };
      expect(answers.map(({ personId }) => personId)).toEqual(['p_1', 'p_2', 'p_2', 'p_2']);
      expect(answers.map(({ identifiers }) => identifiers)).toEqual([email, phone, both, both]);
    });
  });
}

function allTwice<T>(all: readonly T[], again: readonly number[]): T[] {
  return [...all, ...again.flatMap((index) => all.slice(index, index + 1))];
}

function inBatches<T>(all: readonly T[], size: number): T[][] {
  const count = Math.ceil(all.length / size);
  return Array.from({ length: count }, (_, batch) => all.slice(batch * size, (batch + 1) * size));
}

/** Asks who each linking person is now. */
async function leadersIn(
  store: IdentityStore,
  site: string,
  questions: readonly IdentityLookup[],
): Promise<Map<string, string>> {
  const persons = [...expectedLeaders(questions).keys()];
  const answers = await store.resolve(
    site,
    persons.map((person) => question(site, person)),
  );
  return new Map(persons.map((person, index) => [person, answers[index]?.personId ?? '']));
}
