import { afterEach, expect, test, vi } from 'vitest';
import { createSender, type PartitionSender, type SenderOptions, type SendResult } from '#infra/kafka/sender.ts';

const DEADLINE_MS = 1_000;
const ROOM_BYTES = 1_000;
const WATCHDOG_MS = 60_000;

interface Broker {
  kafka: SenderOptions['kafka'];
  /** Open produce requests, oldest first: each is answered by calling it. `once`: the client does not try it again. */
  open: { partitions: number[]; once: boolean; acknowledge(): void; fail(name?: string): void }[];
}

const PARTITIONS = [0, 1, 2, 3];
/** The brokers that lead them. */
const LEADERS = [7, 7, 8, 7];

/** Brokers that answer only when told to. */
function silentBroker(): Broker {
  const open: Broker['open'] = [];
  const connection = { connect: async () => undefined, disconnect: async () => undefined };
  const producer = ({ retry }: { retry?: { retries: number } }) => ({
    ...connection,
    send: ({ messages }: { messages: { partition: number }[] }) =>
      new Promise<void>((resolve, reject) => {
        const partitions = [...new Set(messages.map(({ partition }) => partition))];
        const once = retry?.retries === 0;
        const fail = (name = 'Error'): void => reject(Object.assign(new Error('broker'), { name }));
        open.push({ partitions, once, acknowledge: resolve, fail });
      }),
  });
  const partitions = PARTITIONS.map((partitionId) => ({ partitionId, leader: LEADERS[partitionId] }));
  const admin = () => ({ ...connection, fetchTopicMetadata: async () => ({ topics: [{ name: 't', partitions }] }) });
  return { open, kafka: { producer, admin } as unknown as SenderOptions['kafka'] };
}

let sender: PartitionSender | undefined;
let cluster = { alive: true };
let fatal: unknown[] = [];
afterEach(async () => {
  await sender?.stop();
  vi.useRealTimers();
});

async function start(): Promise<Broker & { sender: PartitionSender }> {
  vi.useFakeTimers();
  const broker = silentBroker();
  cluster = { alive: true };
  fatal = [];
  sender = await createSender({
    kafka: broker.kafka,
    topic: 't',
    requestBytesMax: 500,
    queuedBytesMax: ROOM_BYTES,
    deadlineMs: DEADLINE_MS,
    nowMs: Date.now,
    watchdogMs: WATCHDOG_MS,
    isClusterAlive: () => cluster.alive,
    onFatal: (error) => fatal.push(error),
  });
  return { ...broker, sender };
}

/** The answer, or undefined while there is none. */
function answerOf(sent: Promise<SendResult>): () => SendResult | undefined {
  let answer: SendResult | undefined;
  void sent.then((result) => {
    answer = result;
  });
  return () => answer;
}

const bytes = (count: number): Buffer => Buffer.alloc(count);
const REFUSED = (code: string) => ({ ok: false, code });

test('what is not answered by the deadline is said to be uncertain, and held until it is answered', async () => {
  const { sender, open } = await start();
  const first = answerOf(sender.send(0, bytes(100)));
  await vi.advanceTimersByTimeAsync(DEADLINE_MS - 100);
  expect(first()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(200);
  expect(first()).toEqual(REFUSED('not_acknowledged'));
  expect([sender.queuedBytes(), open.length]).toEqual([100, 1]);
  expect(sender.oldestMs()).toBeGreaterThan(DEADLINE_MS);
  open[0]?.acknowledge();
  await vi.advanceTimersByTimeAsync(10);
  expect([sender.queuedBytes(), sender.oldestMs()]).toEqual([0, 0]);
});

test('a partition whose oldest record is old takes no more, and no other suffers', async () => {
  const { sender, open } = await start();
  void sender.send(0, bytes(10));
  await vi.advanceTimersByTimeAsync(DEADLINE_MS / 2 - 100);
  void sender.send(0, bytes(10));
  await vi.advanceTimersByTimeAsync(200);
  expect(await sender.send(0, bytes(10))).toEqual(REFUSED('queue_old'));
  const other = answerOf(sender.send(1, bytes(10)));
  open.find(({ partitions }) => partitions.includes(1))?.acknowledge();
  await vi.advanceTimersByTimeAsync(10);
  expect(other()).toEqual({ ok: true });
});

test('after the broker has come back all is as before', async () => {
  const { sender, open } = await start();
  void sender.send(0, bytes(10));
  await vi.advanceTimersByTimeAsync(5 * DEADLINE_MS);
  open[0]?.fail();
  await vi.advanceTimersByTimeAsync(10);
  const again = answerOf(sender.send(0, bytes(10)));
  open[1]?.acknowledge();
  await vi.advanceTimersByTimeAsync(10);
  expect(again()).toEqual({ ok: true });
});

test('what waits behind a request that hangs is answered at its own deadline and gives its room back', async () => {
  const { sender } = await start();
  void sender.send(0, bytes(10));
  await vi.advanceTimersByTimeAsync(300);
  const waiting = answerOf(sender.send(0, bytes(200)));
  await vi.advanceTimersByTimeAsync(DEADLINE_MS - 200);
  expect(waiting()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(300);
  expect(waiting()).toEqual(REFUSED('not_acknowledged'));
  expect(sender.queuedBytes()).toBe(10);
});

test('beyond its room nothing is taken', async () => {
  const { sender } = await start();
  void sender.send(0, bytes(ROOM_BYTES - 10));
  expect(await sender.send(1, bytes(11))).toEqual(REFUSED('queue_full'));
  const fitting = answerOf(sender.send(1, bytes(10)));
  await vi.advanceTimersByTimeAsync(10);
  expect(fitting()).toBeUndefined();
});

test('records that come while a request is open go together in the next one, up to its bytes', async () => {
  const { sender, open } = await start();
  const sent = [100, 300, 100, 200].map((count) => answerOf(sender.send(0, bytes(count))));
  open[0]?.acknowledge();
  await vi.advanceTimersByTimeAsync(20);
  open[1]?.acknowledge();
  await vi.advanceTimersByTimeAsync(20);
  expect(sent.map((answer) => answer()?.ok)).toEqual([true, true, true, undefined]);
  expect(open).toHaveLength(3);
});

test('what waits for the partitions of a broker is one request, and a request of several is not tried again', async () => {
  const { sender, open } = await start();
  for (const partition of [0, 1, 2, 3, 1]) void sender.send(partition, bytes(10));
  await vi.advanceTimersByTimeAsync(20);
  expect(open.map(({ partitions, once }) => [partitions, once])).toEqual([
    [[0], false],
    [[1, 3], true],
    [[2], false],
  ]);
});

test('much for one partition does not hold up the others of its broker', async () => {
  const { sender, open } = await start();
  void sender.send(2, bytes(10));
  for (const [partition, size] of [
    [0, 450],
    [1, 100],
    [3, 100],
  ] as const) {
    void sender.send(partition, bytes(size));
  }
  await vi.advanceTimersByTimeAsync(20);
  expect(open.map(({ partitions }) => partitions)).toEqual([[2], [0], [1, 3]]);
});

test('of a request of several partitions that fails each is sent by itself', async () => {
  const { sender, open } = await start();
  void sender.send(2, bytes(10));
  const [zero, one] = [0, 1].map((partition) => answerOf(sender.send(partition, bytes(10))));
  await vi.advanceTimersByTimeAsync(20);
  open[1]?.fail();
  await vi.advanceTimersByTimeAsync(20);
  expect([zero?.(), one?.()]).toEqual([undefined, undefined]);
  expect(open.slice(2).map(({ partitions, once }) => [partitions, once])).toEqual([
    [[0], false],
    [[1], false],
  ]);
  open[2]?.acknowledge();
  open[3]?.fail();
  await vi.advanceTimersByTimeAsync(20);
  expect([zero?.(), one?.(), sender.queuedBytes()]).toEqual([{ ok: true }, REFUSED('not_acknowledged'), 10]);
});

test('what a cluster without a leader interrupts is sent again as long as somebody waits for it', async () => {
  const { sender, open } = await start();
  const sent = answerOf(sender.send(0, bytes(10)));
  for (let tries = 1; tries <= 3; tries++) {
    await vi.advanceTimersByTimeAsync(DEADLINE_MS / 4);
    expect([open.length, sent()]).toEqual([tries, undefined]);
    open.at(-1)?.fail('KafkaJSNumberOfRetriesExceeded');
  }
  await vi.advanceTimersByTimeAsync(DEADLINE_MS);
  expect([open.length, sent(), sender.queuedBytes()]).toEqual([4, REFUSED('not_acknowledged'), 10]);
  open.at(-1)?.fail('KafkaJSNumberOfRetriesExceeded');
  await vi.advanceTimersByTimeAsync(DEADLINE_MS);
  expect([open.length, sender.queuedBytes()]).toEqual([4, 0]);
});

test('what nobody waits for any more is not sent again', async () => {
  const { sender, open } = await start();
  void sender.send(2, bytes(10));
  for (const partition of [0, 1]) void sender.send(partition, bytes(10));
  await vi.advanceTimersByTimeAsync(2 * DEADLINE_MS);
  open[1]?.fail();
  await vi.advanceTimersByTimeAsync(20);
  expect([open.length, sender.queuedBytes()]).toEqual([2, 10]);
});

test('records that come one after the other share a request, and one that comes late goes at once', async () => {
  const { sender, open } = await start();
  for (let sent = 0; sent < 4; sent++) {
    void sender.send(0, bytes(10));
    open.at(-1)?.acknowledge();
    await vi.advanceTimersByTimeAsync(2);
  }
  expect(open).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(20);
  expect(open).toHaveLength(2);
  open[1]?.acknowledge();
  await vi.advanceTimersByTimeAsync(20);
  void sender.send(0, bytes(10));
  expect(open).toHaveLength(3);
});

test('a produce request that hangs while the cluster answers ends the process, once', async () => {
  const { sender, open } = await start();
  void sender.send(0, bytes(10));
  await vi.advanceTimersByTimeAsync(0.9 * WATCHDOG_MS);
  expect(fatal).toEqual([]);
  await vi.advanceTimersByTimeAsync(2 * WATCHDOG_MS);
  expect(fatal).toMatchObject([{ code: 'stage_failed', message: 'a produce request does not end' }]);
  open[0]?.acknowledge();
});

test('while the cluster is away it is waited for', async () => {
  const { sender, open } = await start();
  cluster.alive = false;
  const sent = answerOf(sender.send(0, bytes(10)));
  await vi.advanceTimersByTimeAsync(10 * WATCHDOG_MS);
  expect(fatal).toEqual([]);
  cluster.alive = true;
  await vi.advanceTimersByTimeAsync(0.5 * WATCHDOG_MS);
  open[0]?.fail();
  void sender.send(0, bytes(10));
  await vi.advanceTimersByTimeAsync(0.6 * WATCHDOG_MS);
  expect({ fatal, answer: sent() }).toEqual({ fatal: [], answer: REFUSED('not_acknowledged') });
});
