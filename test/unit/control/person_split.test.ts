import { beforeEach, expect, test } from 'vitest';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { type Control, controlWithShop } from './harness.ts';

const [ANN, BEN, TILL] = ['ann', 'ben', 'till'].map((id) => basePersonId('shop', id)) as [string, string, string];
const HASH = '0a'.repeat(32);
const edge = (person_id: string, target: string) =>
  ({ site_id: 'shop', kind: 'edge', person_id, target, first_seen: 1, version: 0, decision: 'joined' }) as const;

let world: Control;
beforeEach(async () => {
  world = await controlWithShop();
  world.splits.group = [ANN, BEN, TILL].map((person, firstSeen) => ({ person, leader: ANN, firstSeen }));
  world.splits.edges = [edge(ANN, `email ${HASH}`), edge(BEN, `email ${HASH}`), edge(TILL, 'n')];
});

const split = (body: object, person = ANN, site = 'shop') =>
  world.call('POST', `sites/${site}/persons/${person}/split`, { body: { distinct_ids: ['ben'], ...body } });
const problemOf = async (body: object): Promise<string> => {
  const answer = await split(body);
  return answer.body.problems?.[0]?.message ?? String(answer.status);
};

test('a dry run says what would be and changes nothing; else it is done, and stands in the audit without an identifier', async () => {
  const would = { person_id: ANN, new_person_id: BEN, moved: 1, stayed: 2, shared_identifiers: 1, rows: 3 };
  expect((await split({ dry_run: true })).body).toEqual({ ...would, is_done: false });
  expect(world.splits.made).toEqual([]);
  const identifiers = [{ identifier: 'email', sha256: HASH }];
  expect((await split({ identifiers })).body).toEqual({ ...would, is_done: true });
  expect(world.splits.made.map(({ plan }) => plan)).toEqual([
    { groups: [[ANN, TILL], [BEN]], cuts: [[ANN, `email ${HASH}`]], holders: [[`email ${HASH}`, BEN]] },
  ]);
  const { items } = (await world.call('GET', 'audit?setting_key=site/shop&limit=1')).body;
  expect(items[0].after).toEqual({ done: 'person.split', moved: 1, stayed: 2, rows: 3 });
  expect(JSON.stringify(items)).not.toMatch(new RegExp(`${HASH}|${ANN}|${BEN}`));
});

test('who is none of the person is not taken out, and neither is the oldest', async () => {
  expect(await problemOf({ distinct_ids: ['nobody'] })).toMatch(/none of the person/);
  expect(await problemOf({ distinct_ids: ['ben', 'ann'] })).toMatch(/oldest/);
  world.splits.group = [
    ...world.splits.group,
    ...['x', 'y'].map((id) => ({ person: basePersonId('shop', id), leader: basePersonId('shop', 'x'), firstSeen: 9 })),
  ];
  expect(await problemOf({ distinct_ids: ['x'] })).toMatch(/none of the person/);
  expect(await problemOf({ distinct_ids: ['ben', 'x', 'y'] })).toMatch(/none of the person/);
  expect(await problemOf({ distinct_ids: ['x', 'y'] })).toMatch(/none of the person/);
  expect(world.splits.made).toEqual([]);
});

test('a distinct id that is taken out keeps the devices that log in with it later', async () => {
  world.splits.edges = [edge(ANN, 'u:ben'), edge(BEN, 'u:ben'), edge(TILL, 'u:ann'), edge(BEN, 'u:ann')];
  await split({});
  expect(world.splits.made.map(({ plan: { holders, cuts } }) => ({ holders, cuts }))).toEqual([
    {
      holders: [
        ['u:ben', BEN],
        ['u:ann', TILL],
      ],
      cuts: [
        [ANN, 'u:ben'],
        [BEN, 'u:ann'],
      ],
    },
  ]);
});

test('who was erased is not split, as their links would be written again', async () => {
  world.persons.gone.add(BEN);
  expect((await split({})).body.error.code).toBe('person_changed');
  expect(world.splits.made).toEqual([]);
});

test('who was taken out already is asked for once more, as the answer may not have come', async () => {
  world.splits.group = world.splits.group.map((one) => (one.person === BEN ? { ...one, leader: BEN } : one));
  expect(await split({})).toMatchObject({ status: 200, body: { new_person_id: BEN, is_done: true } });
});

test('a person that changed meanwhile is left as it is, and one of no site is unknown', async () => {
  world.splits.isAsPlanned = false;
  expect((await split({})).body.error.code).toBe('person_changed');
  expect((await split({}, ANN, 'none')).body.error.code).toBe('site_unknown');
});
