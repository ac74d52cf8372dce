import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRedis } from '#infra/redis/connection.ts';
import { serviceEnvironment } from '#services/local/start/config.ts';
import { createSupervisor, type Supervisor } from '#services/local/start/supervisor.ts';
import { mountSmallDisk, type SmallDisk } from '#test/fault/world/small_disk.ts';
import { type Ended, runCommand } from '#test/harness/command.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { kafkaOf, quiet } from '#test/harness/kafka.ts';
import { descendantsOf, isAlive, type ProcessMark } from '#test/harness/processes.ts';
import { type RunningService, startService } from '#test/harness/service.ts';
import { readyProcess } from '#test/harness/service_process.ts';
import { storedIds, untilStored } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

/** Whatever is wrong, the status ends within this time. */
const STATUS_MS = 10_000;
/** What a stage has counted at two looks so far apart is all there is. */
const SETTLED_MS = 3_000;
/** What is wrong is told of within this time from when it begins; the last time that is asked may end after it. */
const NOTICED = { timeoutMs: 10_000, everyMs: 0 };
/** A broker that ended again and again is started ever later, and those that wait for it after that. */
const RECOVERED = { timeoutMs: 240_000, everyMs: 1_000 };
const FAILURE_MS = 600_000;
const START_MS = 330_000;
const STOP_MS = 60_000;
/** It keeps the logs of its own queries there as well. */
const CLICKHOUSE_MIB = 512;

let dataDir: string;
let disks: Record<'kafka' | 'redis' | 'clickhouse', SmallDisk | null>;
let service: RunningService;
let started: RunningService | null = null;
const opened: TestSite[] = [];

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'status-'));
  const disk = (name: string, mib?: number) => mountSmallDisk(join(dataDir, name), mib);
  disks = { kafka: disk('kafka'), redis: disk('redis'), clickhouse: disk('clickhouse', CLICKHOUSE_MIB) };
  started = await startService(dataDir, { timeoutMs: START_MS });
  service = started;
}, START_MS + STOP_MS);
// The last of all, whatever the others come to: what is mounted cannot be removed, by this run or by a later one.
afterAll(unmountAll);
afterAll(async () => {
  await Promise.all(opened.map((site) => site.close()));
  await started?.stop();
  unmountAll();
  rmSync(dataDir, { recursive: true, maxRetries: 5 });
}, STOP_MS);

function unmountAll(): void {
  for (const disk of Object.values(disks)) disk?.unmount();
}

interface Asked {
  words?: string[];
  env?: Record<string, string>;
}

/** What a failure is told by, and what mends it. */
interface Staged extends Asked {
  mend?: () => unknown;
}

const statusOf = ({ words = [], env = {} }: Asked = {}) =>
  runCommand('services/cli/main.ts', ['status', ...words], { LOCAL_DIR: dataDir, ...env });

function processOf(command: RegExp): ProcessMark {
  const [found, ...others] = descendantsOf(service.pid).filter((one) => command.test(one.command));
  if (found === undefined) throw new Error(`no process is ${command}`);
  expect(others).toEqual([]);
  return found;
}

/** Stops a process as a debugger does: it neither answers nor ends. */
const stands = (command: RegExp) => async (): Promise<Staged> => {
  const { pid } = processOf(command);
  process.kill(pid, 'SIGSTOP');
  return { mend: () => process.kill(pid, 'SIGCONT') };
};

async function siteWith(options: Parameters<typeof makeSite>[1]): Promise<TestSite> {
  const site = await makeSite(service, options);
  opened.push(site);
  return site;
}

async function send(site: TestSite, events: number, fields: object = {}): Promise<void> {
  const all = Array.from({ length: events }, (_, index) => newEvent({ distinct_id: `visitor-${index}`, ...fields }));
  await until(
    'the events to be taken',
    async () => (await postEvents(service.ready.edge, site.serverKey, all)).status,
    (status) => status === 200,
  );
}

/** A site whose webhook takes an event, and then answers so until it is mended; null: it never does. */
const destinationAnswers = (status: number | null, headers: Record<string, string> = {}) => {
  return async (): Promise<Staged> => {
    let isWell = true;
    let taken = 0;
    const server = createServer((request, response) => {
      request.resume();
      if (isWell) {
        taken++;
        response.end();
      } else if (status !== null) response.writeHead(status, headers).end();
    });
    server.unref();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const site = await siteWith({ webhookUrl: `http://127.0.0.1:${port}` });
    await send(site, 1);
    await until('the first event', () => taken === 1);
    isWell = false;
    await send(site, 6);
    return {
      async mend() {
        isWell = true;
        server.closeAllConnections();
        const secret = `secret=whsec_${randomBytes(32).toString('base64')}`;
        await site.settings.run('destination', 'set', 'webhook', '--site', site.site, '--secret', secret);
        await site.settings.run('destination', 'retry', 'webhook', '--site', site.site);
      },
    };
  };
};

/** An edge beside those of the service, that the status is told of by the address of its metrics. */
const edgeWith = (env: Record<string, string>, nodeArgs: readonly string[] = []) => {
  return async (): Promise<Staged> => {
    const { kafka, registry, redis, clickhouse } = service.ready;
    const addresses = { kafkaBrokers: kafka, registryUrl: registry, redisUrl: redis, clickhouseUrl: clickhouse };
    const all = { ...(await serviceEnvironment(dataDir, addresses)), EDGE_PORT: '0', METRICS_PORT: '0', ...env };
    const supervisor: Supervisor = createSupervisor({
      ...{ logDir: join(dataDir, 'log'), onSpawn: () => undefined, say: () => undefined, nowMs: Date.now },
      isAlive: async () => true,
    });
    await supervisor.start([{ name: 'second_edge', file: 'services/edge/main.ts', nodeArgs, env: () => all }]);
    const port = supervisor.states()[0]?.metricsPort;
    return { words: ['--metrics', `http://127.0.0.1:${port}/metrics`], mend: () => supervisor.stop() };
  };
};

async function withRedis<T>(task: (redis: ReturnType<typeof createRedis>) => Promise<T>): Promise<T> {
  const redis = createRedis(service.ready.redis, quiet);
  try {
    return await task(redis);
  } finally {
    redis.disconnect();
  }
}

async function killed(name: string): Promise<void> {
  const before = await readyProcess(service, name);
  process.kill(before.pid, 'SIGKILL');
  await readyProcess(service, name, before);
}

/** Of the dedup index in Redis: whoever holds it makes the index again, and the others wait. */
const REBUILDER = 'd:rebuilder';
const SHIFTED_CLOCK = new URL('../../fault/world/shifted_clock.ts', import.meta.url).href;

/** Each failure, how it is staged, and what the status says of it. Those that leave something behind come last. */
const FAILURES: [failure: string, stage: () => Promise<Staged | null>, says: RegExp][] = [
  [
    'Kafka hangs',
    stands(/kafka\.Kafka/),
    /^critical +The edge answers 503.*\n.*\ncritical +Kafka does not answer: .*dedup.* wait for it \(since /,
  ],
  [
    'ClickHouse hangs',
    stands(/parts\/clickhouse\/server\.ts/),
    /^critical +ClickHouse does not answer: warehouse waits for it \(since /,
  ],
  [
    'Redis hangs',
    stands(/redis-server/),
    /^critical +Redis does not answer: .*dedup.* wait for it, edge goes on without it \(since /,
  ],
  [
    'the registry is away',
    stands(/apicurio/),
    /^warning +The registry does not answer: .*dedup.* go on without it \(since /,
  ],
  [
    'a stage starts while the registry is away',
    async () => {
      const { pid } = processOf(/apicurio/);
      process.kill(pid, 'SIGSTOP');
      process.kill((await readyProcess(service, 'quota')).pid, 'SIGKILL');
      return { mend: () => process.kill(pid, 'SIGCONT') };
    },
    /^critical +quota (?:does not answer|is starting and does no work yet).* \(since .*\n(?:.*\n)*warning +The registry does not answer: .* \(since /,
  ],
  ['a stage hangs', stands(/services\/identity\/main\.ts/), /^critical +identity does not answer/],
  ['the edge hangs', stands(/services\/edge\/main\.ts/), /^critical +The edge does not answer: no event is accepted/],
  [
    'an index in Redis is made again',
    async () => {
      const site = await siteWith({});
      await withRedis(async (redis) => {
        await redis.flushall();
        await redis.set(REBUILDER, 'another process');
      });
      await send(site, 1);
      return { mend: () => withRedis((redis) => redis.del(REBUILDER)) };
    },
    /^critical +dedup passes nothing while its index in Redis is made again: \d+ % done \(since /,
  ],
  [
    "an edge's clock is ahead",
    edgeWith({}, [`--import=${SHIFTED_CLOCK}?days=3`]),
    /^critical +The clock of edge@\S+ is 259,\d{3} s ahead of that of Redis, so that it takes no events \(since \S+, \d+ s\)/,
  ],
  [
    'topics have fewer partitions than a process believes',
    edgeWith({ EVENT_PARTITIONS: '7' }),
    /^critical +.*events\.raw.*: fewer partitions than edge@\S+ is configured for \(since /,
  ],
  [
    'the admin token was revoked',
    async () => {
      const { settings } = await siteWith({});
      const { secret } = await settings.run<{ secret: string }>('token', 'create', 'operator');
      const env = { SVC_CONTROL_URL: service.ready.control, SVC_ADMIN_TOKEN: secret };
      expect((await statusOf({ env })).output).not.toContain('admin token');
      await settings.run('token', 'revoke', 'operator');
      return { env };
    },
    /^warning +The control service refuses the admin token/m,
  ],
  [
    'a destination answers 500',
    destinationAnswers(500),
    /^warning +webhook of \S+ fails \(http_500\): \d+ events wait \(since /m,
  ],
  [
    'a destination refuses the credentials, as a token was revoked',
    destinationAnswers(401),
    /^warning +webhook of \S+ refuses the credentials or settings \(http_401\): \d+ events wait \(since /m,
  ],
  [
    'a destination asks for a pause',
    destinationAnswers(429, { 'retry-after': '20' }),
    /^warning +webhook of \S+ fails \((?:throttled|http_429)\): \d+ events wait \(since /m,
  ],
  [
    'a destination hangs',
    destinationAnswers(null),
    /^warning +(?:A destination of delivery\.webhook does not answer: a call has been waiting for \d+ s|webhook of \S+ fails \(timeout\): \d+ events wait) \(since /m,
  ],
  [
    'the key of a sender was revoked',
    async () => {
      const { settings, serverKey } = await siteWith({});
      await settings.run('key', 'revoke', serverKey);
      const answer = async () => (await postEvents(service.ready.edge, serverKey, [newEvent()])).status;
      await until('the edge to know it', answer, (status) => status === 403);
      return {};
    },
    /^notice +edge has refused \d+ requests? since it started, whose key was revoked or has expired/m,
  ],
  [
    'Redis was killed',
    async () => {
      process.kill(processOf(/redis-server/).pid, 'SIGKILL');
      return {};
    },
    /^notice +Redis ended and was started again: killed by SIGKILL \(since /m,
  ],
  [
    'a group has no offsets',
    async () => {
      const { metricsUrl } = await readyProcess(service, 'quota');
      await send(await siteWith({}), 1);
      // What it commits after its offsets are forgotten is known again: also of what earlier failures held up and is still on its way.
      let counted = '';
      await until('all to be counted', async () => {
        const before = counted;
        await sleep(SETTLED_MS);
        const text = await (await fetch(metricsUrl)).text();
        counted = /^svc_events_in_total\S* [1-9].*/m.exec(text)?.[0] ?? '';
        return counted !== '' && counted === before && !/^svc_lag_records\S* [1-9]/m.test(text);
      });
      const kafka = kafkaOf(service.ready.kafka, OF_BROKERS);
      const site = await siteWith({});
      await forgetOffsets(kafka, 'svc.quota');
      const broker = processOf(/kafka\.Kafka/);
      process.kill(broker.pid, 'SIGKILL');
      await until('the broker to be gone', () => !isAlive(broker));
      // Until groups are read of it again, that it ended is what is told.
      await until('another broker', () => processOf(/kafka\.Kafka/).pid !== broker.pid);
      const areRead = ({ output }: Ended): boolean => JSON.parse(output).stages.length > 0;
      await until('groups to be read', () => statusOf({ words: ['--json'] }), areRead, RECOVERED);
      return { mend: () => send(site, 50) };
    },
    /^critical +The group of quota has no offsets, though it has taken events/m,
  ],
  [
    'the clock of a sender is ahead',
    async () => {
      await send(await siteWith({}), 20, { timestamp: new Date(Date.now() + 3 * 86_400_000).toISOString() });
      return {};
    },
    /^notice +\d+ of the events that edge took say a time more than a day ahead/m,
  ],
  [
    'records cannot be read',
    async () => {
      const producer = kafkaOf(service.ready.kafka).producer();
      await producer.connect();
      await producer.send({ topic: 'events.raw', messages: [{ value: Buffer.from('garbage'), partition: 0 }] });
      await producer.disconnect();
      const { settings } = await siteWith({});
      return {
        mend: () => settings.run('dead', 'resolve', '--all', '--stage', 'dedup', '--note', 'It was garbage.'),
      };
    },
    /^warning +dedup gave events up since it started: wire_magic 1 \(since /m,
  ],
  [
    "the month's allowance is used up",
    async () => {
      const site = await siteWith({ allowance: 5 });
      await send(site, 20);
      return { mend: () => site.settings.run('account', 'set', site.account, '--allowance', '1000') };
    },
    /^warning +The month's allowance is used up, and events beyond its grace are dropped: \S+ \(1\d\d %\)/m,
  ],
  [
    'the disk of Kafka is full',
    async () => {
      if (disks.kafka === null) return null;
      const { fill, free } = disks.kafka;
      const site = await siteWith({});
      fill();
      // The broker ends itself at the first write that fails.
      const answer = async () => (await postEvents(service.ready.edge, site.serverKey, largeEvents())).status;
      await until('the edge to take no more', answer, (status) => status === 503);
      return {
        async mend() {
          free();
          await until('the edge to take events again', answer, (status) => status === 200, RECOVERED);
        },
      };
    },
    /^critical +The disk of \S+\/kafka is full: 0\.0 GiB left.*\n(?:.*\n)*critical +Kafka (?:has ended, and does not run|dies again and again: \d+ times in ten minutes): .* \(since /,
  ],
  [
    'the disk of Redis is full',
    () => fullBehindTheEdge('redis'),
    /^critical +The disk of \S+\/redis is full: 0\.0 GiB left/m,
  ],
  [
    'the disk of ClickHouse is full',
    () => fullBehindTheEdge('clickhouse'),
    /^critical +The disk of \S+\/clickhouse is full: 0\.0 GiB left/m,
  ],
  [
    'a stage crash-loops',
    async () => {
      for (let death = 0; death < 3; death++) await killed('quota');
      return {};
    },
    /^critical +quota dies again and again: [34] times in ten minutes \(since /m,
  ],
];

/** What cannot be compressed fills what is left of a disk. */
function largeEvents(): object[] {
  const text = () => randomBytes(500).toString('hex');
  return Array.from({ length: 50 }, () => newEvent({ properties: { one: text(), other: text() } }));
}

/** Fills the disk of a part that the edge needs none of: what it takes meanwhile is stored once there is room again. */
async function fullBehindTheEdge(part: 'redis' | 'clickhouse'): Promise<Staged | null> {
  const disk = disks[part];
  if (disk === null) return null;
  const site = await siteWith({});
  disk.fill();
  let sent = 0;
  for (; sent < 1_000; sent += 50) {
    const { status } = await postEvents(service.ready.edge, site.serverKey, largeEvents());
    expect(status).toBe(200);
  }
  return {
    async mend() {
      disk.free();
      await untilStored(service, site.site, sent);
      expect(await storedIds(service, site.site)).toHaveLength(sent);
    },
  };
}

/** Only clients of this name may write to the topics of the brokers themselves. */
const OF_BROKERS = '__admin_client';

test.for(FAILURES)('the status says it where %s', { timeout: FAILURE_MS }, async ([, stage, says], { skip }) => {
  const staged = await stage();
  if (staged === null) return skip('nothing may be mounted here');
  try {
    const { code, output } = await until(
      'the status to say it',
      () => statusOf(staged),
      (one) => says.test(one.output),
      NOTICED,
    );
    const [found = ''] = says.exec(output) ?? [];
    expect(code).toBe(says.source.startsWith('^notice') ? 0 : 1);
    // Behind what is wrong stands what to do.
    expect(output.slice(output.indexOf(found) + found.length)).toMatch(/^.*\n {10}-> \S/);
  } finally {
    await staged.mend?.();
  }
  const isWell = ({ code }: Ended): boolean => code === 0;
  await until('the status to be well again', () => statusOf(), isWell, RECOVERED);
});

test('whatever hangs, the status is there in ten seconds', { timeout: FAILURE_MS }, async () => {
  const timeOf = async (words: string[]): Promise<number> => {
    const startedMs = performance.now();
    await runCommand('services/cli/main.ts', words, { LOCAL_DIR: dataDir });
    return performance.now() - startedMs;
  };
  const hung = [/kafka\.Kafka/, /parts\/clickhouse\/server\.ts/, /redis-server/, /apicurio/];
  const pids = hung.map((command) => processOf(command).pid);
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  try {
    // Beside what any command takes on this machine.
    const [help, status] = [await timeOf(['--help']), await timeOf(['status'])];
    expect(status - help).toBeLessThan(STATUS_MS);
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT');
  }
});

test('a stage that hangs is ended after a minute and started again', { timeout: FAILURE_MS }, async () => {
  const before = await readyProcess(service, 'identity');
  process.kill(before.pid, 'SIGSTOP');
  await until('it to be ended', () => !isAlive(before), Boolean, RECOVERED);
  expect(service.output()).toContain('identity hangs: no answer 6 times in a row; ending it');
  await readyProcess(service, 'identity', before);
});

test('the status says it where everything was killed', { timeout: FAILURE_MS }, async () => {
  const all = descendantsOf(service.pid);
  service.kill('SIGKILL');
  await until('all to be gone', () => all.filter(isAlive).length === 0, Boolean, RECOVERED);
  const { code, output } = await statusOf();
  expect(code).toBe(1);
  expect(output).toMatch(/^critical +Nothing answers: the service was killed/);
});

/** Has the brokers forget what a group has committed, as a coordinator that lost its log does: it is read when a broker starts. */
async function forgetOffsets(kafka: ReturnType<typeof kafkaOf>, group: string): Promise<void> {
  const admin = kafka.admin();
  const producer = kafka.producer();
  await Promise.all([admin.connect(), producer.connect()]);
  const [committed, [topic]] = await Promise.all([
    admin.fetchOffsets({ groupId: group }),
    admin.fetchTopicMetadata({ topics: [OFFSETS] }).then(({ topics }) => topics),
  ]);
  const keys = committed.flatMap(({ topic: name, partitions }) =>
    partitions.map(({ partition }) => offsetKey(group, name, partition)),
  );
  for (const { partitionId } of topic?.partitions ?? []) {
    await producer.send({
      topic: OFFSETS,
      messages: keys.map((key) => ({ key, value: null, partition: partitionId })),
    });
  }
  await Promise.all([admin.disconnect(), producer.disconnect()]);
}
const OFFSETS = '__consumer_offsets';

/** OffsetCommitKey, version 1: group and topic, each behind its length, and the partition. */
function offsetKey(group: string, topic: string, partition: number): Buffer {
  const text = (value: string): Buffer => {
    const head = Buffer.alloc(2);
    head.writeInt16BE(value.length);
    return Buffer.concat([head, Buffer.from(value)]);
  };
  const [version, last] = [Buffer.from([0, 1]), Buffer.alloc(4)];
  last.writeInt32BE(partition);
  return Buffer.concat([version, text(group), text(topic), last]);
}
