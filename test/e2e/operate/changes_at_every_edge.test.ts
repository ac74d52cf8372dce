import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { serviceEnvironment } from '#services/local/start/config.ts';
import { type BenchChild, startChild } from '#test/bench/edge/child.ts';
import { type Answer, newEvent, postBody } from '#test/harness/ingest.ts';
import { readyProcess, type ServiceProcess } from '#test/harness/service_process.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeKey, makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const service = sharedService();
const { ready } = service;
const SEEN_MS_MAX = 2_000;
const EVERY_MS = 10;
const ORIGIN = 'https://shop.example';
const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36';

let second: BenchChild;
let first: ServiceProcess;
let edges: string[];
let site: TestSite;

beforeAll(async () => {
  const addresses = {
    kafkaBrokers: ready.kafka,
    registryUrl: ready.registry,
    redisUrl: ready.redis,
    clickhouseUrl: ready.clickhouse,
  };
  const env = await serviceEnvironment(service.dataDir, addresses);
  second = await startChild('../../../services/edge/main.ts', [], { ...env, EDGE_PORT: '0', METRICS_PORT: '0' });
  first = await readyProcess(service, 'edge');
  edges = [ready.edge, second.url];
  site = await makeSite(service);
});
afterAll(async () => {
  await site.close();
  await second.stop();
});

const ask = (edge: string, key: string, origin: string | null = null): Promise<Answer> =>
  postBody(edge, key, JSON.stringify({ events: [newEvent({ event: 'blocked_soon' })] }), {
    'user-agent': BROWSER,
    ...(origin === null ? {} : { origin }),
  });

const mode = async (edge: string): Promise<string> => {
  const response = await fetch(`${edge}/v1/config`, { headers: { 'x-svc-key': site.serverKey } });
  return ((await response.json()) as { mode: string }).mode;
};

const codeOf = ({ status, body }: Answer): string => {
  if (status === 200) return `accepted ${(body as { accepted: number }).accepted}`;
  return (body as { error: { code: string } }).error.code;
};

/** How long after a change was answered each edge still had it otherwise, in milliseconds. */
async function seenAfter(change: string[], wanted: string, look: (edge: string) => Promise<string>): Promise<number[]> {
  for (const edge of edges) expect(await look(edge)).not.toBe(wanted);
  await site.settings.run(...change);
  const changedMs = performance.now();
  return Promise.all(
    edges.map(async (edge) => {
      await until(
        `${wanted} at ${edge}`,
        () => look(edge),
        (seen) => seen === wanted,
        {
          timeoutMs: 3 * SEEN_MS_MAX,
          everyMs: EVERY_MS,
        },
      );
      return Math.round(performance.now() - changedMs);
    }),
  );
}

interface Change {
  what: string;
  words(): string[];
  wanted: string;
  look(edge: string): Promise<string>;
}

let key: string;
beforeEach(async () => {
  key = await makeKey(site.settings, site.site, 'browser', ['--origin', ORIGIN]);
  for (const edge of edges) {
    await until(
      'the new key',
      () => ask(edge, key),
      ({ status }) => status === 200,
      { timeoutMs: 3 * SEEN_MS_MAX },
    );
  }
});

const CHANGES: Change[] = [
  {
    what: 'a revoked key',
    words: () => ['key', 'revoke', key],
    wanted: 'key_revoked',
    look: async (edge) => codeOf(await ask(edge, key)),
  },
  {
    what: 'an origin put on the allow-list',
    words: () => ['key', 'set', key, '--origin', 'https://new.example'],
    wanted: 'accepted 1',
    look: async (edge) => codeOf(await ask(edge, key, 'https://new.example')),
  },
  {
    what: 'an origin taken off it, another being on it',
    words: () => ['key', 'set', key, '--origin', 'https://new.example', '--remove-origin', ORIGIN],
    wanted: 'origin_not_allowed',
    look: async (edge) => codeOf(await ask(edge, key, ORIGIN)),
  },
  {
    what: 'the mode, to offline',
    words: () => ['site', 'set', site.site, '--mode', 'offline'],
    wanted: 'offline',
    look: mode,
  },
  {
    what: 'the mode, and back',
    words: () => ['site', 'set', site.site, '--mode', 'online'],
    wanted: 'online',
    look: mode,
  },
  {
    what: 'a block rule',
    words: () => ['site', 'set', site.site, '--block', 'event=blocked_soon'],
    wanted: 'accepted 0',
    look: async (edge) => codeOf(await ask(edge, site.serverKey)),
  },
];

test.for(CHANGES)(
  '$what is in force at both edges within 2 s, without a restart',
  async ({ what, words, wanted, look }) => {
    const afterMs = await seenAfter(words(), wanted, look);
    console.log(`${what}: after ${afterMs.join(' and ')} ms`);
    for (const ms of afterMs) expect(ms).toBeLessThan(SEEN_MS_MAX);
    expect((await readyProcess(service, 'edge')).pid).toBe(first.pid);
  },
);

test('the last use of a key, whichever edge saw it, is shown within a few seconds', async () => {
  const beforeMs = Date.now();
  const used = await makeKey(site.settings, site.site, 'server', ['--label', 'used']);
  const list = () =>
    site.settings.run<{ label: string; last_used_at: number | null }[]>('key', 'list', '--site', site.site);
  const lastUsed = async () => (await list()).find(({ label }) => label === 'used')?.last_used_at;
  expect(await lastUsed()).toBeNull();
  await until(
    'the key works',
    () => ask(second.url, used),
    ({ status }) => status === 200,
  );
  const atMs = await until('the last use', lastUsed, (seen) => typeof seen === 'number', { timeoutMs: 10_000 });
  expect(atMs).toBeGreaterThanOrEqual(beforeMs);
  expect(atMs).toBeLessThanOrEqual(Date.now());
});
