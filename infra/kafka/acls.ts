import kafkajs, { type AclEntry, type Kafka } from 'kafkajs';
import type { KafkaRights, ProcessUser } from '#infra/rights/process_rights.ts';

/** What a user may do with topics, groups or transactional ids. A name that ends in `*` stands for all that begin so. */
interface Grant {
  operation: 'Read' | 'Write' | 'Describe' | 'Delete';
  resource: 'topic' | 'group' | 'transactional-id';
  names: readonly string[];
}

/** @param prefix Of the installation's groups and transactional ids. */
function grantsOf(rights: KafkaRights, prefix: string): Grant[] {
  const groups = (names: readonly string[] = []): string[] =>
    names.flatMap((name) => [`${prefix}.${name}`, `${prefix}.${name}.*`]);
  const grants: Grant[] = [
    { operation: 'Read', resource: 'topic', names: rights.reads },
    { operation: 'Write', resource: 'topic', names: rights.writes },
    { operation: 'Describe', resource: 'topic', names: rights.describes ?? [] },
    { operation: 'Read', resource: 'group', names: groups(rights.groups) },
    { operation: 'Describe', resource: 'group', names: groups(rights.groupsDescribed) },
    { operation: 'Delete', resource: 'group', names: groups(rights.groupsDeleted) },
    {
      operation: 'Write',
      resource: 'transactional-id',
      names: (rights.transactionalIds ?? []).map((name) => `${prefix}.${name}.*`),
    },
  ];
  return grants.filter(({ names }) => names.length > 0);
}

const isPrefix = (name: string): boolean => name.endsWith('*');
const bare = (name: string): string => name.replace(/\*$/, '');

/**
 * The commands by which an administrator of the brokers gives the users their rights; `kafka-acls.sh` takes names of one
 * kind of pattern at a time.
 */
export function aclCommands(users: readonly ProcessUser[], prefix: string): string[] {
  return users.flatMap(({ user, rights }) =>
    grantsOf(rights.kafka, prefix).flatMap(({ operation, resource, names }) =>
      [...Map.groupBy(names, isPrefix)].map(([prefixed, some]) => {
        const of = some.map((name) => `--${resource} ${bare(name)}`).join(' ');
        const pattern = prefixed ? ' --resource-pattern-type prefixed' : '';
        return `$ACLS --allow-principal User:${user} --operation ${operation} ${of}${pattern}`;
      }),
    ),
  );
}

/** The rights of users as the brokers keep them. */
function aclEntries(users: readonly ProcessUser[], prefix: string): AclEntry[] {
  const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
  const operations = {
    Read: AclOperationTypes.READ,
    Write: AclOperationTypes.WRITE,
    Describe: AclOperationTypes.DESCRIBE,
    Delete: AclOperationTypes.DELETE,
  };
  const resources = {
    topic: AclResourceTypes.TOPIC,
    group: AclResourceTypes.GROUP,
    'transactional-id': AclResourceTypes.TRANSACTIONAL_ID,
  };
  return users.flatMap(({ user, rights }) =>
    grantsOf(rights.kafka, prefix).flatMap(({ operation, resource, names }) =>
      names.map((name) => ({
        principal: `User:${user}`,
        host: '*',
        operation: operations[operation],
        permissionType: AclPermissionTypes.ALLOW,
        resourceType: resources[resource],
        resourceName: bare(name),
        resourcePatternType: isPrefix(name) ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
      })),
    ),
  );
}

const nameOf = (entry: AclEntry): string =>
  [
    entry.principal,
    entry.operation,
    entry.permissionType,
    entry.resourceType,
    entry.resourceName,
    entry.resourcePatternType,
  ].join(' ');

/** Gives users their rights, and takes away what else these users have. The client must be one that may do so. */
export async function applyAcls(kafka: Kafka, users: readonly ProcessUser[], prefix: string): Promise<void> {
  const wanted = new Map(aclEntries(users, prefix).map((entry) => [nameOf(entry), entry]));
  const names = new Set(users.map(({ user }) => `User:${user}`));
  const admin = kafka.admin();
  await admin.connect();
  try {
    const { resources } = await admin.describeAcls({
      resourceType: kafkajs.AclResourceTypes.ANY,
      resourcePatternType: kafkajs.ResourcePatternTypes.ANY,
      operation: kafkajs.AclOperationTypes.ANY,
      permissionType: kafkajs.AclPermissionTypes.ANY,
    });
    const there = resources.flatMap(({ acls, ...resource }) => acls.map((acl): AclEntry => ({ ...resource, ...acl })));
    const known = new Set(there.map(nameOf));
    const missing = [...wanted].flatMap(([name, entry]) => (known.has(name) ? [] : [entry]));
    const surplus = there.filter((entry) => names.has(entry.principal) && !wanted.has(nameOf(entry)));
    if (missing.length > 0) await admin.createAcls({ acl: missing });
    if (surplus.length > 0) await admin.deleteAcls({ filters: surplus });
  } finally {
    await admin.disconnect();
  }
}
