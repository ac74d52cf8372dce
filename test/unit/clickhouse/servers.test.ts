import { ClickHouseError } from '@clickhouse/client';
import { expect, test } from 'vitest';
import {
  connectServers,
  isClickhouseAddress,
  readClickhouseAddress,
  readClickhouseLogin,
  type WatchedServer,
} from '#infra/clickhouse/servers.ts';

test.each([
  ['http://svc:p%40ss@a:8123/svc', ['http://svc:p%40ss@a:8123/svc']],
  ['https://a', ['https://a']],
  [
    'http://svc:p@a:8123,b:8124,[::1]:8125/svc?x=1',
    ['http://svc:p@a:8123/svc?x=1', 'http://svc:p@b:8124/svc?x=1', 'http://svc:p@[::1]:8125/svc?x=1'],
  ],
])('%s names servers', (address, urls) => {
  expect(readClickhouseAddress(address)).toEqual(urls);
});

test.each(['', 'a:8123', 'ftp://a', 'http://', 'http://a:8123,', 'http://a:8123,b:port/svc', 'http://a:99999'])(
  '%j is no address',
  (address) => {
    expect(isClickhouseAddress(address)).toBe(false);
    expect(() => readClickhouseAddress(address)).toThrow(/one host and port or several$/);
  },
);

test('user, password and database are those of all servers', () => {
  const login = { username: 'svc', password: 'p@ss', database: 'events' };
  expect(readClickhouseLogin('http://svc:p%40ss@a,b/events')).toEqual(login);
  expect(readClickhouseLogin('http://svc:p%40ss@a,b?database=events')).toEqual(login);
  expect(readClickhouseLogin('http://a')).toEqual({ username: 'default', password: '', database: 'default' });
});

interface Fake extends WatchedServer {
  asked: number;
  answers(): Promise<unknown>;
  alive: boolean;
}

/** Three servers, each of which answers with its own number. */
function world() {
  const servers = [0, 1, 2].map((number): Fake => {
    const fake: Fake = {
      ...{ asked: 0, alive: true, answers: async () => number },
      client: {
        url: `http://${number}`,
        command: async () => {
          fake.asked++;
          return fake.answers();
        },
      } as never,
      isAlive: () => fake.alive,
      guard: (ask) => ask(),
      close: async () => undefined,
    };
    return fake;
  });
  const warehouse = connectServers(servers, 1);
  const ask = (signal?: AbortSignal): Promise<unknown> =>
    warehouse.command({ query: 'SELECT 1', ...(signal === undefined ? {} : { abort_signal: signal }) });
  return { servers: servers as [Fake, Fake, Fake], warehouse, ask };
}

const refused = () => Promise.reject(new Error('connect ECONNREFUSED'));
const failing = (code: string) => () => Promise.reject(new ClickHouseError({ code, type: 'X', message: '' }));

test('servers are asked in turn, from the one that it is told', async () => {
  const { ask } = world();
  expect([await ask(), await ask(), await ask(), await ask()]).toEqual([1, 2, 0, 1]);
});

test('what a server leaves unanswered the next one answers, and one that is known to be away is not asked', async () => {
  const { servers, ask, warehouse } = world();
  servers[1].answers = refused;
  expect(await ask()).toBe(2);
  servers[1].alive = false;
  expect([await ask(), await ask(), await ask()]).toEqual([2, 0, 2]);
  expect(servers[1].asked).toBe(1);
  expect(warehouse.alive().map(({ url }) => url)).toEqual(['http://0', 'http://2']);
  servers[1].alive = true;
  servers[1].answers = async () => 1;
  expect(new Set([await ask(), await ask(), await ask()])).toEqual(new Set([0, 1, 2]));
});

test('one without its Keeper is passed over; what every server would refuse is asked of one', async () => {
  const { servers, ask } = world();
  servers[1].answers = failing('242');
  expect(await ask()).toBe(2);
  servers[2].answers = failing('60');
  servers[0].answers = failing('60');
  await expect(ask()).rejects.toMatchObject({ code: '60' });
  expect(servers.map(({ asked }) => asked)).toEqual([0, 1, 2]);
});

test.each([
  ['that took one too long', new Error('Timeout error.')],
  ['that took one too long', new DOMException('', 'TimeoutError')],
])('what %s is not asked of the next', async (_what, error) => {
  const { servers, ask } = world();
  servers[1].answers = () => Promise.reject(error);
  await expect(ask()).rejects.toBe(error);
});

test('what nobody waits for any more is asked of no further server', async () => {
  const { servers, ask } = world();
  const { signal, abort } = (() => {
    const controller = new AbortController();
    return { signal: controller.signal, abort: () => controller.abort() };
  })();
  servers[1].answers = async () => {
    abort();
    throw new Error('aborted');
  };
  await expect(ask(signal)).rejects.toThrow('aborted');
  expect(servers.map(({ asked }) => asked)).toEqual([0, 1, 0]);
});

test('where none answers the last failure is told, and where none is there that', async () => {
  const { servers, ask, warehouse } = world();
  for (const server of servers) server.answers = refused;
  await expect(ask()).rejects.toThrow('ECONNREFUSED');
  expect(await warehouse.ping()).toEqual({ success: true });
  for (const server of servers) server.alive = false;
  await expect(ask()).rejects.toThrow('no server answers');
  expect(await warehouse.ping()).toMatchObject({ success: false });
});
