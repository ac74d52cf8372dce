import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import type { FunnelAnswer } from '#pipelines/analytics/funnels/query.ts';
import { COMMANDS } from '#services/cli/run_cli.ts';
import { demoRows } from './demo_rows.ts';
import { START, storedRow } from './few_rows.ts';
import { type QueryWorld, rowsOf, useQueryWorld } from './query_world.ts';
import type { Ledger } from './reference/reference_ledger.ts';
import { makeWorld } from './reference/worlds.ts';
import { commandLine, wordsOf } from './typed_command.ts';

const PAGE = readFileSync(new URL('../../../docs/analytics.md', import.meta.url), 'utf8');
const EXAMPLES = readFileSync(new URL('../../../docs/example_queries.sql', import.meta.url), 'utf8');
const QUESTIONS = [...EXAMPLES.matchAll(/^-- (\d+)\. (.+?)\n([^-].*?);$/gms)].map(([, number, question, sql]) => ({
  number: Number(number),
  question,
  sql: sql ?? '',
}));
const TYPED = [...PAGE.matchAll(/^npm run svc -- (.+?)(?: +#.*)?$/gm)].map(([, words]) => words ?? '');
const EVENTS = 3_000;
const DAY_MS = 86_400_000;
const SEPTEMBER = { from: Date.UTC(2026, 8, 1), to: Date.UTC(2026, 9, 1) };

/** A question as it is answered at some time. */
const askedAt = (sql: string, nowMs: number): string =>
  sql.replaceAll('now()', `fromUnixTimestamp64Milli(${nowMs}, 'UTC')`);
const create = useQueryWorld();

async function filled(): Promise<{ world: QueryWorld; ledger: Ledger }> {
  const world = await create();
  const { ledger, blocks, links } = makeWorld(1, EVENTS);
  await world.store(blocks);
  await world.link(links);
  const { warehouse } = world.database;
  const at = SEPTEMBER.from;
  await insertBlock(warehouse, 'delivery_outcomes', 'o', [
    { site_id: 'shop', destination: 'meta', event_id: 'a', event: 'purchase', outcome: 'delivered', attempted_at: at },
  ]);
  await insertBlock(warehouse, 'inventory', 'i', [
    { site_id: 'shop', page: '/', received_at: at, inventory_id: 'one', position: 0, type: 'button', text: 'Buy' },
  ]);
  return { world, ledger };
}

test('the page has twenty questions', () => {
  expect(QUESTIONS.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
});

test('every question of the page has an answer, some of which are known', { timeout: 120_000 }, async () => {
  const { world, ledger } = await filled();
  const answers = new Map<number, Record<string, unknown>[]>();
  for (const { number, question, sql } of QUESTIONS) {
    const rows = await rowsOf<Record<string, unknown>>(world.database, askedAt(sql, SEPTEMBER.to));
    expect(rows, question).not.toEqual([]);
    answers.set(number, rows);
  }
  const september = ledger.filter(({ at }) => at >= SEPTEMBER.from && at < SEPTEMBER.to);
  const byName = Map.groupBy(september, ({ name }) => name);
  expect(new Map(answers.get(1)?.map(({ event, events }) => [event, events]))).toEqual(
    new Map([...byName].map(([name, of]) => [name, of.length])),
  );
  const byDay = Map.groupBy(september, ({ at }) => new Date(at).toISOString().slice(0, 10));
  expect(answers.get(2)).toEqual(
    [...byDay]
      .map(([day, of]) => ({ day, people: new Set(of.map(({ person }) => person)).size }))
      .sort((a, b) => (a.day < b.day ? -1 : 1)),
  );
  const used = answers.get(19)?.reduce((sum, { used: events }) => sum + Number(events), 0);
  expect(used).toBe(new Set(ledger.map(({ id }) => id)).size);
});

const EMPTY_ON_DEMO = [18, 20];

test('the questions and the commands have answers on the demo’s traffic', { timeout: 120_000 }, async () => {
  const world = await create();
  // `--since 1d` is today, of which there is nothing yet in its first hours: it is noon of yesterday.
  const endsAt = Date.now() - (Date.now() % DAY_MS) - DAY_MS / 2;
  await world.store([await demoRows(endsAt)]);
  const request = { series: [{ events: ['page_view'] }, { events: ['purchase'] }] };
  const svc = commandLine(world, endsAt, { 'trends.json': JSON.stringify(request) });
  const answers = new Map<number, Record<string, unknown>[]>();
  for (const { number, sql } of QUESTIONS) {
    const rows = await rowsOf<Record<string, unknown>>(world.database, askedAt(sql, endsAt + 1));
    if (!EMPTY_ON_DEMO.includes(number)) expect(rows, `question ${number}`).not.toEqual([]);
    answers.set(number, rows);
  }
  expect(answers.get(10)?.some(({ campaign }) => campaign === 'autumn_launch')).toBe(true);
  expect(answers.get(8)?.map(({ level }) => level)).toContain(3);
  const examples = Object.values(COMMANDS).flatMap(({ examples = [] }) => examples);
  // A cohort is there where one was made: test/integration/query/cohorts.test.ts asks by one.
  const typed = [...TYPED, ...examples].filter((words) =>
    /^query (?!list|cancel|sql|timeline)(?!.*cohort=)/.test(words),
  );
  expect(typed.length).toBeGreaterThan(10);
  for (const words of typed) {
    const { exitCode, stdout, stderr } = await svc(...wordsOf(words), '--json');
    expect([exitCode, words, stderr]).toEqual([0, words, '']);
    expect(stdout.match(/"(?:reached|events|persons|paths|new)": [1-9]/), words).not.toBeNull();
  }
});

test('question 8 counts to the millisecond, as the API does', async () => {
  const world = await create();
  const steps = ['page_view', 'add_to_cart', 'purchase'];
  const rows = (visitor: string, ...millis: number[]) =>
    millis.map((at, index) =>
      storedRow(visitor, steps[index] ?? '', 0, { timestamp: START + at, event_id: `${visitor}${index}` }),
    );
  await world.store([[...rows('a', 0, 400, 900), ...rows('b', 500, 100, 900), ...rows('c', 0, 2, 1)]]);
  const [from, to] = [START - 86_400_000, START + 86_400_000];
  const asked = { from, to, window_ms: 30 * 86_400_000, steps: steps.map((event) => ({ events: [event] })) };
  const { steps: reached } = await world.ask<FunnelAnswer>('funnel', asked);
  const sql = QUESTIONS.find(({ number }) => number === 8)?.sql ?? '';
  const levels = await rowsOf<{ level: number; people: number }>(world.database, askedAt(sql, to));
  const atLeast = steps.map((_, index) =>
    levels.filter(({ level }) => level > index).reduce((sum, { people }) => sum + Number(people), 0),
  );
  expect(atLeast).toEqual([3, 2, 1]);
  expect(reached.map((step) => step.reached)).toEqual(atLeast);
});

test('a session ends with a pause of more than 30 minutes', async () => {
  const { world, ledger } = await filled();
  const rows = await rowsOf<{ sessions: number; events: number }>(
    world.database,
    "SELECT count() AS sessions, sum(events) AS events FROM sessions WHERE site_id = 'shop'",
  );
  let sessions = 0;
  for (const deeds of Map.groupBy(ledger, ({ person }) => person).values()) {
    const times = deeds.map(({ at }) => at).sort((a, b) => a - b);
    sessions += times.filter((at, index) => index === 0 || at - (times[index - 1] ?? 0) > 1_800_000).length;
  }
  expect(rows).toEqual([{ sessions, events: ledger.length }]);
});

test('counts of hours have each event once, though its block comes again', async () => {
  const world = await create();
  const { ledger, blocks } = makeWorld(2, 500);
  const unique = [...new Map(blocks.flat().map((row) => [`${row.site_id}/${row.event_id}`, row])).values()];
  for (let times = 0; times < 3; times++) await insertBlock(world.database.warehouse, 'event_rows', 'same', unique);
  const rows = await rowsOf(world.database, "SELECT sum(events) AS events FROM event_hours WHERE site_id = 'shop'");
  expect(rows).toEqual([{ events: ledger.length }]);
});

test('every column of every table and view says what it is', async () => {
  const { database } = await create();
  const bare = await rowsOf(
    database,
    `SELECT table, name FROM system.columns
     WHERE database = currentDatabase() AND comment = '' AND table NOT IN ('schema_migrations', 'merged_persons_base', 'merged_persons_recent', 'merged_persons_filled')`,
  );
  expect(bare).toEqual([]);
});
