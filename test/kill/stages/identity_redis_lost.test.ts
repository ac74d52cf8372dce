import { expect, test } from 'vitest';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createPersonSplits } from '#infra/persons/person_splits.ts';
import { basePersonId } from '#pipelines/identity/identity.ts';
import { decodePerson, readBatch } from '#schemas/event_batch.ts';
import { readWire } from '#schemas/wire.ts';
import { NO_IDENTIFIERS } from '#test/contract/identity/questions.ts';
import { quiet } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { append, events, newIds, recordsOn, uniqueRecord } from './stage_events.ts';
import { type StageWorld, startStage, useStageWorld } from './stages_fixture.ts';

const TEST_MS = 90_000;
const world = useStageWorld();
let sent = 0;

/** Has a visitor say who they are, and answers the person that the event was given. */
async function identified(at: StageWorld, visitor: string, email: string | null, phone: string | null) {
  const [id = ''] = newIds(1);
  const identifiers = email === null && phone === null ? null : { ...NO_IDENTIFIERS, email, phone };
  const [event] = events('who', [id], { distinct_id: visitor, identify: identifiers !== null, identifiers });
  if (event === undefined) throw new Error('no event');
  await append(at, TOPICS.unique, 0, [await uniqueRecord(at, [event], sent++)]);
  let person: ReturnType<typeof decodePerson> = null;
  await until('the event to be identified', async () => {
    for (const { value } of await recordsOn(at.session.config.brokers, TOPICS.identified)) {
      const wire = readWire(value);
      const found = wire.ok ? readBatch(wire.body).find(({ eventId }) => eventId === id) : undefined;
      if (found !== undefined) person = decodePerson(found.personBytes);
    }
    return person !== null;
  });
  return person as ReturnType<typeof decodePerson>;
}

test('identity knows after Redis was emptied whom it knew before', { timeout: TEST_MS }, async () => {
  const at = world();
  const member = startStage(at, 'identity');
  await member.ready;
  const email = 'e'.repeat(64);
  const phone = 'f'.repeat(64);
  const first = await identified(at, 'first', email, null);
  const second = await identified(at, 'second', email, phone);
  expect(second?.person_id).toBe(first?.person_id);
  await at.redis.flushall();
  const third = await identified(at, 'third', null, phone);
  expect(third).toEqual({ person_id: first?.person_id, identifiers: { ...NO_IDENTIFIERS, email, phone } });
  expect((await identified(at, 'second', null, null))?.person_id).toBe(first?.person_id);
  expect(member.log().filter(({ msg }) => msg === 'index rebuilt')).toHaveLength(2);
});

test('identity keeps apart after Redis was emptied whom somebody has split', { timeout: TEST_MS }, async () => {
  const at = world();
  const warehouse = createWarehouse(at.env['CLICKHOUSE_URL'] ?? '');
  const { session, registry, redis } = at;
  const splits = createPersonSplits({
    ...{ session, registry, redis, warehouse, cluster: null, logger: quiet },
    nowMs: Date.now,
  });
  await startStage(at, 'identity').ready;
  const email = 'd'.repeat(64);
  const ann = await identified(at, 'ann', email, null);
  const ben = await identified(at, 'ben', email, null);
  expect(ben?.person_id).toBe(ann?.person_id);
  const { site_id } = events('who', ['any'])[0] ?? { site_id: '' };
  const [own, other] = ['ann', 'ben'].map((id) => basePersonId(site_id, id)) as [string, string];
  const moved = new Set([ann?.person_id === own ? other : own]);
  const group = await splits.groupsOf(site_id, [...moved]);
  expect(await splits.split(await splits.plan(site_id, group, moved, new Set()))).toBe(true);
  await at.redis.flushall();
  const after = [await identified(at, 'ann', email, null), await identified(at, 'ben', email, null)];
  expect(after.map((person) => person?.person_id)).toEqual([own, other]);
  await warehouse.close();
});

test('identity knows nobody after Redis was emptied whose links were deleted from their topic', {
  timeout: TEST_MS,
}, async () => {
  const at = world();
  await startStage(at, 'identity').ready;
  const [email, phone] = ['a'.repeat(64), 'b'.repeat(64)];
  const laptop = await identified(at, 'forgotten-laptop', email, phone);
  expect((await identified(at, 'forgotten-tablet', email, null))?.person_id).toBe(laptop?.person_id);
  const stays = await identified(at, 'stays', 'c'.repeat(64), null);
  const { site_id } = events('who', ['any'])[0] ?? { site_id: '' };
  const persons = ['forgotten-laptop', 'forgotten-tablet'].map((id) => basePersonId(site_id, id));
  const links = await recordsOn(at.session.config.brokers, TOPICS.links);
  const theirs = links.filter(({ key }) => persons.some((person) => key?.includes(person)));
  expect(theirs.length).toBeGreaterThan(4);
  const messages = theirs.map(({ key, partition }) => ({ key, partition, value: null }));
  await at.producer.send({ topic: TOPICS.links, acks: -1, messages });
  await at.redis.flushall();
  const next = await identified(at, 'next', email, phone);
  expect(next?.person_id).toBe(basePersonId(site_id, 'next'));
  expect((await identified(at, 'stays-too', 'c'.repeat(64), null))?.person_id).toBe(stays?.person_id);
});
