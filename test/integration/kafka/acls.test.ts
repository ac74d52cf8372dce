import kafkajs from 'kafkajs';
import { expect, inject, test } from 'vitest';
import { applyAcls } from '#infra/kafka/provision.ts';
import type { ProcessUser } from '#infra/rights/process_rights.ts';
import { kafkaOf, uniqueName } from '#test/harness/kafka.ts';
import { until } from '#test/harness/until.ts';

test('what a user may do no more is taken away, and what others may do stays', async () => {
  const kafka = kafkaOf(inject('parts').addresses.kafkaBrokers);
  const withTopics = (user: string, writes: readonly string[]): ProcessUser => ({
    user,
    rights: { kafka: { reads: [], writes, groups: [] }, redis: null, clickhouse: null },
  });
  const [one, other] = [uniqueName('one'), uniqueName('other')];
  await applyAcls(kafka, [withTopics(other, ['first'])], 'test');
  await applyAcls(kafka, [withTopics(one, ['first', 'second.*'])], 'test');
  await applyAcls(kafka, [withTopics(one, ['second.*', 'third'])], 'test');

  const admin = kafka.admin();
  await admin.connect();
  const topicsOf = async (user: string): Promise<string[]> => {
    const { resources } = await admin.describeAcls({
      resourceType: kafkajs.AclResourceTypes.TOPIC,
      resourcePatternType: kafkajs.ResourcePatternTypes.ANY,
      operation: kafkajs.AclOperationTypes.WRITE,
      permissionType: kafkajs.AclPermissionTypes.ALLOW,
    });
    return resources
      .filter(({ acls }) => acls.some(({ principal }) => principal === `User:${user}`))
      .map(({ resourceName }) => resourceName)
      .sort();
  };
  // A broker hears of changes behind the controller's answer.
  const ofOne = await until(
    'the right is taken away',
    () => topicsOf(one),
    (topics) => !topics.includes('first'),
  );
  expect(ofOne).toEqual(['second.', 'third']);
  expect(await topicsOf(other)).toEqual(['first']);
  await admin.disconnect();
});
