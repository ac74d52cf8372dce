import { expect, test } from 'vitest';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { FunnelAnswer } from '#pipelines/analytics/funnels/query.ts';
import { purchaseFunnel, storedRow } from './few_rows.ts';
import { useQueryWorld } from './query_world.ts';
import { commandLine } from './typed_command.ts';

const create = useQueryWorld();
const STEPS = ['--step', 'page_view', '--step', 'purchase?plan=paid', '--since', '2026-10-01', '--until', '2026-11-01'];

async function shop(files: Record<string, string> = {}) {
  const world = await create();
  await world.store([
    [
      storedRow('a', 'page_view', 0, { properties: '{"plan":"free"}' }),
      storedRow('a', 'purchase', 1, { properties: '{"plan":"paid"}' }),
      storedRow('b', 'page_view', 2, { properties: '{"plan":"free, \\"so\\""}' }),
    ],
  ]);
  return commandLine(world, purchaseFunnel.to, files);
}

test('a funnel is drawn', async () => {
  const svc = await shop();
  const { stdout, exitCode } = await svc(
    'funnel',
    'show',
    'shop',
    ...STEPS,
    '--trend',
    'day',
    '--breakdown',
    'plan@first_touch',
  );
  expect(exitCode).toBe(0);
  expect(stdout).toMatchInlineSnapshot(`
    "shop, 2026-10-01 to 2026-10-31, by person

         STEP                                                REACHED  OF FIRST  OF PREV.   MEDIAN TIME, FROM PREV.
       1 page_view           ████████████████████████████          2   100.0 %   100.0 %
       2 purchase?plan=paid  ██████████████                        1    50.0 %    50.0 %   1.0 min      1.0 min

    VALUE       PAGE_VIEW  PURCHASE?PLAN=PAID  CONVERTED
    free        1          1                   100.0 %
    free, "so"  1          0                   0.0 %

    FROM        PAGE_VIEW  PURCHASE?PLAN=PAID  CONVERTED
    2026-10-05  2          1                   50.0 %
    "
  `);
});

test('a funnel is JSON and CSV', async () => {
  const svc = await shop();
  const answer = JSON.parse((await svc('funnel', 'show', 'shop', ...STEPS, '--json')).stdout) as FunnelAnswer;
  expect(answer.steps.map(({ reached }) => reached)).toEqual([2, 1]);
  const csv = await svc('funnel', 'show', 'shop', ...STEPS, '--breakdown', 'plan', '--csv');
  expect(csv.stdout.split('\r\n')).toEqual([
    'group,value,step,name,reached,of_first,of_previous,median_ms,p90_ms,average_ms,between_median_ms,between_p90_ms,between_average_ms',
    'all,,1,page_view,2,1,1,0,0,0,,,',
    'all,,2,purchase?plan=paid,1,0.5,0.5,60000,60000,60000,60000,60000,60000',
    'value,free,1,page_view,1,1,1,0,0,0,,,',
    'value,free,2,purchase?plan=paid,1,1,1,60000,60000,60000,60000,60000,60000',
    'value,"free, ""so""",1,page_view,1,1,1,0,0,0,,,',
    'value,"free, ""so""",2,purchase?plan=paid,0,0,0,,,,,,\n',
  ]);
});

test('any question of a file is answered as JSON and as CSV', async () => {
  const { from, to } = purchaseFunnel;
  const question = JSON.stringify({ from, to, field: { property: ['plan'] }, events: ['purchase'] });
  const svc = await shop({ 'question.json': question, 'broken.json': '[' });
  const ask = (file: string, ...more: string[]) =>
    svc('query', 'ask', 'shop', '--name', 'top', '--file', file, ...more);
  expect(JSON.parse((await ask('question.json')).stdout)).toMatchObject({ values: [{ value: 'paid', events: 1 }] });
  expect((await ask('question.json', '--csv')).stdout).toContain('\r\nvalues,1,');
  expect((await ask('broken.json')).stderr).toContain('query_malformed');
});

const OCTOBER = ['--since', '2026-10-01', '--until', '2026-11-01'];

test('trends, retention and top values are tables', async () => {
  const svc = await shop();
  const shown = async (...words: string[]) => (await svc(...words)).stdout;
  const trends = ['--event', 'page_view', '--event', 'purchase', '--sum', 'value', '--breakdown', 'plan'];
  expect(await shown('trends', 'shop', ...trends, ...OCTOBER)).toMatchInlineSnapshot(`
    "page_view

    FROM        EVENTS  PERSONS  SUM
    2026-10-05  2       2        0
    all         2       2        0

    VALUE       EVENTS  PERSONS  SUM
    free        1       1        0
    free, "so"  1       1        0

    purchase

    FROM        EVENTS  PERSONS  SUM
    2026-10-05  1       1        0
    all         1       1        0

    VALUE  EVENTS  PERSONS  SUM
    paid   1       1        0
    "
  `);
  expect(
    await shown('retention', 'shop', '--start', 'page_view', '--interval', 'day', ...OCTOBER),
  ).toMatchInlineSnapshot(`
    "FROM        PERSONS  DAY 0
    2026-10-05  2        1 (50.0 %)
    "
  `);
  expect(await shown('top', 'shop', '--field', 'event', '--limit', '1', ...OCTOBER)).toMatchInlineSnapshot(`
    "VALUE      EVENTS  PERSONS  SUM
    page_view  2       2        0

    There are more values than are shown.
    "
  `);
});

test('who is in a step of a funnel is a table, page by page', async () => {
  const svc = await shop();
  const of = JSON.stringify({ funnel: purchaseFunnel, step: 1, got: 'reached' });
  const first = await svc('actors', 'shop', '--of', of, '--limit', '1');
  expect(first).toMatchObject({ exitCode: 0, stderr: '' });
  const [, next = ''] = /More with --after (.*)/.exec(first.stdout) ?? [];
  const second = await svc('actors', 'shop', '--of', of, '--after', next);
  expect(second.stdout).toMatch(/^PERSON +HAPPENED +EVENT +DISTINCT ID\np_.* page_view +[ab]\n$/);
  expect(second.stdout).not.toContain(first.stdout.split('\n')[1]);
  expect(await svc('actors', 'shop', '--of', '{')).toMatchObject({ exitCode: 2 });
});

test('a filter is given as JSON', async () => {
  const svc = await shop();
  const filter = { any: [{ field: { property: ['plan'] }, is: 'matching', to: '^pa' }] };
  const words = ['top', 'shop', '--field', 'plan', ...OCTOBER, '--filter', JSON.stringify(filter)];
  expect((await svc(...words)).stdout).toMatch(/^VALUE.*\npaid .*\n$/);
});

test('formulas, measures, the time before and other values are in the tables', async () => {
  const svc = await shop();
  const shown = async (...words: string[]) => (await svc(...words)).stdout;
  const events = ['--event', 'page_view', '--event', 'purchase', '--interval', 'month'];
  const compared = ['--measure', 'persons', '--formula', 'B / A', '--compare'];
  const text = await shown('trends', 'shop', ...events, ...compared, ...OCTOBER);
  expect(text).toContain(
    ['FROM        EVENTS  PERSONS  BEFORE', '2026-10-01  2       2        0', 'all         2       2        0'].join(
      '\n',
    ),
  );
  expect(text).toContain(
    ['B / A', '', 'FROM        RESULT  BEFORE', '2026-10-01  0.5     -', 'all         0.5     -'].join('\n'),
  );
  const broken = ['--breakdown', 'plan', '--breakdown', 'event', '--limit', '1', '--measure', 'unique:plan'];
  expect(await shown('trends', 'shop', '--event', 'page_view', ...broken, ...OCTOBER)).toContain(
    [
      'VALUE            EVENTS  PERSONS  UNIQUE',
      'free, page_view  1       1        1',
      '1 others         1       1        1',
    ].join('\n'),
  );
});

test('stickiness and lifecycles are tables', async () => {
  const svc = await shop();
  const shown = async (...words: string[]) => (await svc(...words)).stdout;
  expect(await shown('stickiness', 'shop', '--event', 'page_view', ...OCTOBER)).toContain(
    ['page_view', '', 'DAYS OF 31  PERSONS  SO MANY OR MORE', '1           2        2'].join('\n'),
  );
  expect(await shown('lifecycle', 'shop', '--interval', 'month', ...OCTOBER)).toContain(
    ['FROM        NEW  RETURNING  RESURRECTING  DORMANT', '2026-10-01  2    0          0             0'].join('\n'),
  );
});

test('what arrived and what a person did are tables', async () => {
  const svc = await shop();
  const shown = async (...words: string[]) => (await svc(...words)).stdout;
  expect(await shown('timeline', 'shop', '--distinct-id', 'a', ...OCTOBER)).toMatchInlineSnapshot(`
    "HAPPENED              EVENT      SOURCE   VALUE  DISTINCT ID
    2026-10-05T12:01:00Z  purchase   website  -      a
    2026-10-05T12:00:00Z  page_view  website  -      a
    "
  `);
  expect(await shown('live', 'show', 'shop', '--event', 'purchase')).toMatch(/^Nothing arrived in the last hour/);
  const rows = JSON.parse(await shown('timeline', 'shop', '--distinct-id', 'a', ...OCTOBER, '--json')) as Listing;
  const person = rows.events[0]?.person_id ?? '';
  expect(await shown('timeline', 'shop', '--person', person, ...OCTOBER, '--limit', '1')).toMatch(/purchase/);
});

test.for([
  [['trends', 'shop'], 'flag_missing'],
  [['trends', 'shop', '--event', '*', '--interval', 'minute'], 'field_malformed'],
  [['trends', 'shop', '--event', '*', '--zone', 'Mars/Base'], 'field_malformed'],
  [['trends', 'shop', '--event', '*', '--formula', 'A +'], 'formula_malformed'],
  [['trends', 'shop', '--event', '*', '--measure', 'p90'], 'field_missing'],
  [['stickiness', 'shop'], 'flag_missing'],
  [['lifecycle', 'shop', '--interval', 'hour'], 'field_malformed'],
  [['retention', 'shop', '--mode', 'twice'], 'field_malformed'],
  [['top', 'shop'], 'flag_missing'],
  [['top', 'shop', '--field', 'plan', '--limit', '0'], 'field_malformed'],
  [['live', 'shop', '--filter', '{'], 'condition_malformed'],
  [['live', 'shop', '--filter', '{}'], 'field_missing'],
  [['timeline', 'shop'], 'flag_missing'],
  [['timeline', 'shop', '--person', 'a', '--distinct-id', 'b'], 'flag_missing'],
  [['retention', 'shop', '--interval', 'hour'], 'field_malformed'],
  [['live', 'nowhere'], 'site_unknown'],
] as const)('%j: %s', async ([words, code]) => {
  const svc = await shop();
  expect(await svc(...words)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`svc: ${code}: `) });
});

test.for([
  [['shop', '--step', 'page_view'], 'flag_missing'],
  [['shop', ...STEPS, '--order', 'sideways'], 'field_malformed'],
  [['shop', ...STEPS, '--window', 'long'], 'duration_malformed'],
  [['shop', ...STEPS, '--since', '2026-13-01'], 'time_malformed'],
  [['shop', ...STEPS, '--where', 'size>big'], 'condition_malformed'],
  [['shop', ...STEPS, '--step', ','], 'step_malformed'],
  [['nowhere', ...STEPS], 'site_unknown'],
] as const)('%j is refused by %s', async ([words, code]) => {
  const svc = await shop();
  expect(await svc('funnel', 'show', ...words)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining(`svc: ${code}: `),
  });
});
