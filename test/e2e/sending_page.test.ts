import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { childEnvironment } from '#test/harness/environment.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGE = readFileSync(`${ROOT}docs/sending.md`, 'utf8');
const service = sharedService();
const { edge, clickhouse } = service.ready;

/** The blocks that can be run, by their headings. */
const BLOCKS = [...PAGE.matchAll(/^## (.+?)\n(?:(?!^## )[\s\S])*?```(sh|js)\n([\s\S]*?)```/gm)].map(
  ([, heading = '', language = '', code = '']) => ({ heading, language, code }),
);

/** What a page has that Node has not. */
const PAGE_GLOBALS = `
globalThis.location = { href: 'https://shop.example/?utm_campaign=autumn_launch' };
globalThis.document = { title: 'Home', referrer: '' };
`;

let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service);
});
afterAll(() => site.close());

/** The block as a reader pastes it, with their own address and key where it has some of its own. */
function pasted(code: string): string {
  return code
    .replace(/^const SVC_URL = .*$/m, `${PAGE_GLOBALS}const SVC_URL = ${JSON.stringify(edge)};`)
    .replace(/^const SVC_KEY = .*$/m, `const SVC_KEY = ${JSON.stringify(site.browserKey)};`);
}

async function run(language: string, code: string): Promise<{ code: number | null; output: string }> {
  const [command, words] =
    language === 'sh' ? ['bash', ['-c', code]] : [process.execPath, ['--input-type=module', '-e', pasted(code)]];
  const env = childEnvironment({ SVC_URL: edge, SVC_KEY: site.serverKey });
  const child = spawn(command as string, words as string[], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code: status, output };
}

interface Row {
  event: string;
  distinct_id: string;
  action_source: string;
  value: number | null;
  days: number;
}

const EXPECTED: Record<string, Partial<Row>[]> = {
  curl: [{ event: 'purchase', distinct_id: 'curl-customer', value: 12.5 }],
  'A point of sale (POS), a call center, a back office': [
    { event: 'purchase', action_source: 'physical_store', value: 80 },
  ],
  'A server, with fetch': [{ event: 'purchase', distinct_id: 'fetch-customer', value: 40, days: 7 }],
  'A page, with fetch': [{ event: 'page_view', action_source: 'website' }],
  "Segment's library for Node": [
    { event: '$identify', distinct_id: 'segment-user' },
    { event: 'Order Completed', distinct_id: 'segment-user', value: 20, action_source: 'system_generated' },
    { event: 'page_view', distinct_id: 'segment-user', action_source: 'website' },
  ],
  "RudderStack's library for Node": [{ event: 'Order Completed', distinct_id: 'rudder-user', value: 30, days: 7 }],
  "PostHog's library for Node": [
    { event: '$identify', distinct_id: 'posthog-user' },
    { event: 'purchase', distinct_id: 'posthog-user', value: 50 },
  ],
};

test('every block of docs/sending.md runs as it stands, and what it sends is stored', async () => {
  expect(BLOCKS.map(({ heading }) => heading)).toEqual(Object.keys(EXPECTED));
  const ended = await Promise.all(BLOCKS.map(({ language, code }) => run(language, code)));
  ended.forEach(({ code, output }, at) => {
    expect(code, `${BLOCKS[at]?.heading}: ${output}`).toBe(0);
  });
  const expected = Object.values(EXPECTED).flat();
  const rows = await until(
    'the rows of every block',
    () =>
      select<Row>(
        clickhouse,
        `SELECT event, distinct_id, action_source, value, toInt32(dateDiff('day', timestamp, received_at)) AS days
         FROM events WHERE site_id = {site:String}`,
        { site: site.site },
      ),
    (found) => found.length >= expected.length,
    { timeoutMs: 30_000 },
  );
  for (const row of expected) expect(rows).toContainEqual(expect.objectContaining(row));
  expect(rows).toHaveLength(expected.length);
});
