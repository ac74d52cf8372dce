import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PROCESSES, readBy } from '#infra/config/catalogue.ts';
import { aclCommands } from '#infra/kafka/provision.ts';
import { declareTopics } from '#infra/kafka/topics.ts';
import { aclFile, processUsers, REDIS_COMMANDS, rightsOf } from '#infra/rights/process_rights.ts';

const DESTINATIONS = ['meta', 'webhook'];
const USERS = processUsers(DESTINATIONS);

const writersOf = (topic: string): string[] =>
  USERS.flatMap(({ user, rights }) => (rights.kafka.writes.includes(topic) ? [user] : []));

test.for([
  ['site.config', ['svc_control']],
  ['audit', ['svc_control']],
  ['audit.reads', ['svc_control']],
  ['events.raw', ['svc_edge', 'svc_control']],
  ['delivery.meta.retry.5s', ['svc_delivery_meta']],
] as const)('who may write %s', ([topic, users]) => {
  expect(writersOf(topic)).toEqual(users);
});

test('the edge writes events and inventories, and reads settings', () => {
  expect(rightsOf('edge', DESTINATIONS)).toMatchObject({
    kafka: { reads: ['site.config'], writes: ['events.raw', 'inventory'] },
    clickhouse: null,
  });
});

test('every topic that is named is one of the service', () => {
  const topics = new Set(declareTopics(DESTINATIONS).map(({ name }) => name));
  const named = USERS.flatMap(({ rights: { kafka } }) => [...kafka.reads, ...kafka.writes, ...(kafka.describes ?? [])]);
  expect(named.filter((name) => !topics.has(name))).toEqual(['delivery.*']);
});

test.each(PROCESSES)('%s has rights at the parts whose address it reads, and at no others', (kind) => {
  const names = readBy(kind, DESTINATIONS, 'meta').map(({ facts }) => facts.variable);
  const { redis, clickhouse } = rightsOf(kind, DESTINATIONS, 'meta');
  expect([names.includes('REDIS_URL'), names.includes('CLICKHOUSE_URL')]).toEqual([
    redis !== null,
    clickhouse !== null,
  ]);
});

test('identity may use every command of its script, whose rare paths no other test takes as its user', () => {
  const source = readFileSync(new URL('../../../infra/redis/indexes/identity.lua', import.meta.url), 'utf8');
  const used = [...source.matchAll(/redis\.call\('([A-Z]+)'/g)].map(([, command = '']) => command.toLowerCase());
  const granted = [...(rightsOf('identity', DESTINATIONS).redis?.commands ?? []), ...REDIS_COMMANDS];
  expect(used.filter((command) => !granted.includes(command))).toEqual([]);
});

test('the commands of Redis are those that its scripts and stores use', () => {
  const folder = new URL('../../../infra/redis/', import.meta.url);
  // What `svc doctor` asks as an operator no process may, and is done without where it is refused.
  const isOfProcesses = (name: string): boolean => /\.(?:ts|lua)$/.test(name) && name !== 'inspect.ts';
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(isOfProcesses);
  const sources = names.map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const used = sources.flatMap((text) =>
    [
      ...text.matchAll(
        /\b(?:redis|node)\.(?:call\('([A-Z]+)'|(?!call\b|on\b|nodes\b|disconnect\b|cluster\b)([a-z]+)\()/g,
      ),
    ].map(([, script, command]) => (script ?? command ?? '').toLowerCase()),
  );
  const granted = USERS.flatMap(({ rights }) => rights.redis?.commands ?? []);
  // Of the client itself, of databases beside the first one, and of clusters.
  const ofClient = ['select', ...REDIS_COMMANDS.filter((command) => /^(?:asking|cluster|read)/.test(command))];
  expect([...new Set([...granted, ...REDIS_COMMANDS])].sort()).toEqual([...new Set([...used, ...ofClient])].sort());
});

test('names of one kind of pattern go in one command', () => {
  const replay = USERS.filter(({ user }) => user === 'svc_replay');
  expect(aclCommands(replay, 'svc').slice(-3)).toEqual([
    `$ACLS --allow-principal User:svc_replay --operation Delete --group \${PREFIX}svc.replay`,
    `$ACLS --allow-principal User:svc_replay --operation Delete --group \${PREFIX}svc.replay. --resource-pattern-type prefixed`,
    `$ACLS --allow-principal User:svc_replay --operation Write --transactional-id \${PREFIX}svc.replay. --resource-pattern-type prefixed`,
  ]);
});

test.each(['', 'shop.'])('in a shell the commands name what is there behind the prefix "%s"', (prefix) => {
  const commands = aclCommands(USERS, 'svc');
  const { stdout, status } = spawnSync('sh', ['-eu'], {
    input: `PREFIX=${prefix}\nACLS=echo\n${commands.join('\n')}\n`,
    encoding: 'utf8',
  });
  const written = commands.map((command) => command.replace('$ACLS ', '').replaceAll(/\$\{PREFIX\}/g, prefix));
  expect({ status, lines: stdout.trimEnd().split('\n') }).toEqual({ status: 0, lines: written });
  expect(stdout).toContain(`--topic ${prefix}site.config`);
});

test('a file of users of Redis lets nobody in without a password, and holds none', () => {
  const passwords = Object.fromEntries(['svc', ...USERS.map(({ user }) => user)].map((user) => [user, 'hidden']));
  const lines = aclFile('svc', USERS, passwords, { tellsReading: true }).trimEnd().split('\n');
  expect(lines.map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual(
    [
      'default off',
      'svc on',
      'svc_edge on',
      'svc_control on',
      'svc_dedup on',
      'svc_identity on',
      'svc_quota on',
      'svc_erasure on',
      'svc_alerts on',
    ].map((user) => expect.stringMatching(`^user ${user}`)),
  );
  expect(lines[0]).toBe('user default off resetpass ~* &* +@all');
  expect(lines.join()).not.toContain('hidden');
  expect(lines.find((line) => line.startsWith('user svc_edge'))).toContain(' %R~i:* ');
  expect(aclFile('svc', USERS, passwords, { tellsReading: false })).not.toContain('%R~');
});
