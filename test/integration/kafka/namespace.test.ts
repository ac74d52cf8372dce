import kafkajs from 'kafkajs';
import { expect, onTestFinished, test } from 'vitest';
import type { Kafka } from '#infra/kafka/client.ts';
import { openTopicIds } from '#infra/kafka/offsets.ts';
import { openFencedProducer } from '#infra/kafka/producers.ts';
import { applyAcls, missingAcls, provisionTopics } from '#infra/kafka/provision.ts';
import type { ProcessUser } from '#infra/rights/process_rights.ts';
import { differences, kafkaOf, numbered, produce, readCommitted, uniqueName, valuesOf } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';
import { isDone, joinStage, type KafkaFixture, type Lane, passOn, useKafka } from './stage_fixture.ts';

const shared = useKafka();
const LANE: Lane = { groupId: 'group', input: 'in', output: 'out', offsets: 'offsets' };
const PARTITIONS = 2;

/** An installation on the shared broker, all of whose names are those of any other. */
async function openInstallation(): Promise<KafkaFixture & { prefix: string }> {
  const prefix = `${uniqueName('shop')}.`;
  const { brokers } = shared();
  const kafka = kafkaOf(brokers, 'test', undefined, prefix);
  const admin = kafka.admin();
  await admin.connect();
  onTestFinished(() => admin.disconnect());
  const topics = [LANE.input, LANE.output].map((name) => ({ name, partitions: PARTITIONS }));
  const declared = [...topics, { name: LANE.offsets, partitions: 1 }].map((one) => ({
    ...{ ...one, config: { 'max.message.bytes': '8388608' }, schema: null },
  }));
  const first = await provisionTopics(kafka, declared, 1);
  expect(first.created.toSorted()).toEqual(['in', 'offsets', 'out']);
  expect(await provisionTopics(kafka, declared, 1)).toMatchObject({ created: [], altered: [] });
  return { kafka, admin, brokers, prefix };
}

const memberOf = ({ prefix, brokers }: { prefix: string; brokers: string }): Kafka =>
  kafkaOf(brokers, uniqueName('member'), undefined, prefix);

test('installations with the same names share a cluster and see nothing of each other', async () => {
  const installations = [await openInstallation(), await openInstallation()];
  for (const [index, one] of installations.entries()) {
    const texts = numbered(`of-${index}`, 20, PARTITIONS);
    await joinStage(one, LANE, passOn(LANE.output, PARTITIONS), { kafka: memberOf(one) });
    await produce(one.kafka, LANE.input, texts);
    await until('the stage to be done', () => isDone(one, LANE));
    const found = await readCommitted(memberOf(one), LANE.output, PARTITIONS);
    expect(differences(found, valuesOf(texts))).toEqual([]);
    expect((await one.admin.listTopics()).toSorted()).toEqual(['in', 'offsets', 'out']);
    expect((await one.admin.listGroups()).groups.map(({ groupId }) => groupId)).toContain(LANE.groupId);
  }
  const { admin } = shared();
  const all = await admin.listTopics();
  for (const { prefix } of installations) {
    expect(all.filter((name) => name.startsWith(prefix)).toSorted()).toEqual(
      ['in', 'offsets', 'out'].map((name) => prefix + name),
    );
    const { groups } = await admin.describeGroups([`${prefix}${LANE.groupId}`]);
    const [member] = groups[0]?.members ?? [];
    const { MemberMetadata, MemberAssignment } = kafkajs.AssignerProtocol;
    // The broker forgets offsets of topics that no member says it reads.
    expect(MemberMetadata.decode(member?.memberMetadata ?? Buffer.alloc(0))?.topics).toEqual([`${prefix}in`]);
    const assigned = MemberAssignment.decode(member?.memberAssignment ?? Buffer.alloc(0))?.assignment ?? {};
    expect(Object.keys(assigned)).toEqual([`${prefix}in`]);
    const [committed] = await admin.fetchOffsets({ groupId: `${prefix}${LANE.groupId}`, topics: [`${prefix}in`] });
    expect(committed?.partitions.map(({ offset }) => Number(offset) > 0)).toEqual([true, true]);
  }
});

test('a transactional id of one installation does not fence that of another', async () => {
  const [one, other] = [await openInstallation(), await openInstallation()];
  const first = await openFencedProducer(one.kafka, 'writer');
  onTestFinished(() => first.close());
  const second = await openFencedProducer(other.kafka, 'writer');
  onTestFinished(() => second.close());
  await first.append(LANE.output, 0, [{ key: null, value: Buffer.from('still there') }]);
  const heir = await openFencedProducer(one.kafka, 'writer');
  onTestFinished(() => heir.close());
  const late = first.append(LANE.output, 0, [{ key: null, value: Buffer.from('too late') }]);
  await expect(late).rejects.toMatchObject({ type: 'INVALID_PRODUCER_EPOCH' });
});

test('ids of topics, offsets that are gone and rights are those of the own installation', async () => {
  const one = await openInstallation();
  const ids = [await openTopicIds(one.kafka), await openTopicIds(shared().kafka)] as const;
  onTestFinished(async () => void (await Promise.all(ids.map((each) => each.close()))));
  expect(await ids[0].of(LANE.input)).toBe(await ids[1].of(`${one.prefix}${LANE.input}`));
  await produce(one.kafka, LANE.input, numbered('gone', 20, PARTITIONS));
  const partitions = [0, 1].map((partition) => ({ partition, offset: '10' }));
  // Has the client learn of the topic.
  await one.admin.fetchTopicOffsets(LANE.input);
  await one.admin.deleteTopicRecords({ topic: LANE.input, partitions });
  await one.admin.setOffsets({
    ...{ groupId: LANE.groupId, topic: LANE.input },
    partitions: [0, 1].map((partition) => ({ partition, offset: '3' })),
  });
  const after = numbered('after', 10, PARTITIONS);
  await joinStage(one, LANE, passOn(LANE.output, PARTITIONS), { kafka: memberOf(one) });
  await produce(one.kafka, LANE.input, after);
  await until('the stage to be done', () => isDone(one, LANE));
  expect(differences(await readCommitted(memberOf(one), LANE.output, PARTITIONS), valuesOf(after))).toEqual([]);

  const user: ProcessUser = {
    user: uniqueName('user'),
    rights: { kafka: { reads: ['in', 'lane.*'], writes: [], groups: ['stage'] }, redis: null, clickhouse: null },
  };
  await applyAcls(one.kafka, [user], 'svc');
  // A broker hears of changes behind the controller's answer.
  await expect.poll(() => missingAcls(one.admin, [user], 'svc')).toEqual(new Map([[user.user, 0]]));
  const anything = {
    resourceType: kafkajs.AclResourceTypes.ANY,
    resourcePatternType: kafkajs.ResourcePatternTypes.ANY,
    operation: kafkajs.AclOperationTypes.READ,
    permissionType: kafkajs.AclPermissionTypes.ALLOW,
  };
  const { resources } = await shared().admin.describeAcls(anything);
  const granted = resources
    .filter(({ acls }) => acls.some(({ principal }) => principal === `User:${user.user}`))
    .map(({ resourceName }) => resourceName);
  expect(granted.toSorted()).toEqual(['in', 'lane.', 'svc.stage', 'svc.stage.'].map((name) => one.prefix + name));
});
