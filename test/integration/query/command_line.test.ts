import { expect, test } from 'vitest';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import { purchaseFunnel, storedRow } from './few_rows.ts';
import { useQueryWorld } from './query_world.ts';
import { commandLine } from './typed_command.ts';

const create = useQueryWorld();
const OCTOBER = ['--since', '2026-10-01', '--until', '2026-11-01'];
const STEPS =
  '[{"events":["page_view"]},{"events":["purchase"],"filters":[{"field":{"property":["plan"]},"is":"set"}]}]';

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

const FUNNEL = ['funnel', 'shop', '--set', `steps=${STEPS}`, '--set', 'window_ms=604800000', ...OCTOBER];

test('a funnel is a table for each part of the answer', async () => {
  const svc = await shop();
  const breakdown = ['--set', 'breakdown.field.property.0=plan', '--set', 'breakdown.at=first_touch'];
  const { stdout, exitCode } = await svc('query', ...FUNNEL, ...breakdown, '--set', 'trend.interval=day');
  expect(exitCode).toBe(0);
  expect(stdout).toMatchInlineSnapshot(`
    "answer
    more_values  as_of
    false        2026-11-21T12:00:00Z

    steps
    number  reached  of_first  of_previous  time_ms.median  time_ms.p90  time_ms.average  time_ms.least  time_ms.most  between_ms.median  between_ms.p90  between_ms.average
    1       2        1         1            0               0            0                0              0             -                  -               -
    2       1        0.5       0.5          60,000          60,000       60,000           60,000         60,000        60,000             60,000          60,000

    time_to_convert
    number  reached  up_to_ms
    1       1        60,000
    2       0        600,000
    3       0        3,600,000
    4       0        21,600,000
    5       0        86,400,000
    6       0        259,200,000
    7       0        604,800,000
    8       0        1,209,600,000
    9       0        2,592,000,000
    10      0        -

    breakdown
    number  value
    1       free
    2       free, "so"

    breakdown.steps
    number  reached  of_first  of_previous  time_ms.median  time_ms.p90  time_ms.average  time_ms.least  time_ms.most  between_ms.median  between_ms.p90  between_ms.average  breakdown.number
    1       1        1         1            0               0            0                0              0             -                  -               -                   1
    2       1        1         1            60,000          60,000       60,000           60,000         60,000        60,000             60,000          60,000              1
    1       1        1         1            0               0            0                0              0             -                  -               -                   2
    2       0        0         0            -               -            -                -              -             -                  -               -                   2

    trend
    number  from
    1       2026-10-05T00:00:00Z

    trend.steps
    number  reached  of_first  of_previous  time_ms.median  time_ms.p90  time_ms.average  time_ms.least  time_ms.most  between_ms.median  between_ms.p90  between_ms.average  trend.number
    1       2        1         1            0               0            0                0              0             -                  -               -                   1
    2       1        0.5       0.5          60,000          60,000       60,000           60,000         60,000        60,000             60,000          60,000              1
    "
  `);
});

test('a funnel is JSON and CSV', async () => {
  const svc = await shop();
  const json = await svc('query', ...FUNNEL, '--format', 'json');
  expect(JSON.parse(json.stdout)).toMatchObject({ steps: [{ reached: 2 }, { reached: 1 }] });
  expect(JSON.parse((await svc('query', ...FUNNEL, '--json')).stdout)).toMatchObject({ steps: [{ reached: 2 }, {}] });
  const csv = await svc(
    'query',
    ...FUNNEL,
    '--set',
    'breakdown={"field":{"property":["plan"]},"at":"first_step"}',
    '--format',
    'csv',
  );
  expect(csv.stdout).toContain('"free, ""so"""');
  expect(csv.stdout.split('\r\n')[0]).toMatch(/^part,number,/);
});

test('a request is a file, standard input or JSON, which other options change', async () => {
  const { from, to } = purchaseFunnel;
  const request = JSON.stringify({ from, to, field: { property: ['plan'] }, events: ['purchase'] });
  const svc = await shop({ 'request.json': request, 'broken.json': '[' });
  const top = async (body: string, ...more: string[]) => await svc('query', 'top', 'shop', '--body', body, ...more);
  for (const body of ['request.json', request]) {
    expect(JSON.parse((await top(body, '--json')).stdout)).toMatchObject({ values: [{ value: 'paid', events: 1 }] });
  }
  const views = await top('request.json', '--set', 'events.0=page_view', '--where', 'plan=free', '--fresh');
  expect(views.stdout).toMatch(/\nvalues\n.*\n1 +free +1 /);
  expect((await top('request.json', '--since', '1d')).stdout).not.toContain('paid');
  expect((await top('broken.json')).stderr).toContain('query_malformed');
  expect((await top('{"a":')).stderr).toContain('query_malformed');
  expect((await top('-')).stderr).toContain('query_malformed');
});

test('trends, retention, top values, lifecycles and timelines are tables', async () => {
  const svc = await shop();
  const shown = async (...words: string[]) => (await svc('query', ...words, ...OCTOBER)).stdout;
  const series = ['--set', 'series=[{"events":["page_view"]},{"events":["purchase"]}]'];
  expect(
    await shown('trends', 'shop', ...series, '--set', 'formulas.0=B / A', '--interval', 'month'),
  ).toMatchInlineSnapshot(`
    "answer
    as_of
    2026-11-21T12:00:00Z

    series
    number  events  persons  sum  measured
    1       2       2        0    2
    2       1       1        0    1

    series.intervals
    number  events  persons  sum  measured  series.number  from
    1       2       2        0    2         1              2026-10-01T00:00:00Z
    1       1       1        0    1         2              2026-10-01T00:00:00Z

    formulas
    number  measured  formula
    1       0.5       B / A

    formulas.intervals
    number  measured  from                  formulas.number
    1       0.5       2026-10-01T00:00:00Z  1
    "
  `);
  expect(
    await shown('retention', 'shop', '--set', 'start.events.0=page_view', '--set', 'back={}'),
  ).toMatchInlineSnapshot(`
    "answer
    as_of
    2026-11-21T12:00:00Z

    cohorts
    number  from                  persons
    1       2026-10-05T00:00:00Z  2

    cohorts.returned
    number  cohorts.number  value
    1       1               1
    "
  `);
  expect(await shown('top', 'shop', '--set', 'field.column=event', '--set', 'limit=1')).toMatchInlineSnapshot(`
    "answer
    more_values  other.values  other.events  other.persons  other.sum  as_of
    true         1             1             1              0          2026-11-21T12:00:00Z

    values
    number  value      events  persons  sum
    1       page_view  2       2        0
    "
  `);
  expect(await shown('lifecycle', 'shop', '--interval', 'month')).toMatch(/2026-10-01T00:00:00Z +2 +0 +0 +0/);
  expect(await shown('timeline', 'shop', '--set', 'distinct_id=a')).toMatch(/ purchase .* 2026-10-05T12:01:00Z /);
});

test('who is in a step of a funnel is listed page by page', async () => {
  const svc = await shop();
  const of = JSON.stringify({ funnel: purchaseFunnel, step: 1, got: 'reached' });
  const page = async (...more: string[]) =>
    JSON.parse((await svc('query', 'actors', 'shop', '--set', `of=${of}`, ...more, '--json')).stdout) as {
      actors: { person_id: string }[];
      next: string;
    };
  const first = await page('--set', 'limit=1');
  const second = await page('--set', `after=${first.next}`);
  expect([first.actors.length, second.actors.length]).toEqual([1, 1]);
  expect(second.actors).not.toEqual(first.actors);
});

test('what arrived last is a table', async () => {
  const svc = await shop();
  expect((await svc('live', 'show', 'shop', '--event', 'purchase')).stdout).toMatch(
    /^Nothing arrived in the last hour/,
  );
  const all = ['--set', 'received_after=0', '--where', 'plan=paid', '--json'];
  const { events } = JSON.parse((await svc('query', 'live', 'shop', ...all)).stdout) as Listing;
  expect(events).toMatchObject([{ event: 'purchase' }]);
});

test.for([
  [['query', 'trends', 'shop'], 'field_missing'],
  [['query', 'trend', 'shop'], 'query_unknown'],
  [['query', 'trends'], 'argument_missing'],
  [['query', 'trends', 'nowhere', '--set', 'series=[{}]'], 'site_unknown'],
  [['query', 'trends', 'shop', '--set', 'series=[{}]', '--interval', 'minute'], 'field_malformed'],
  [['query', 'trends', 'shop', '--set', 'series=[{}]', '--zone', 'Mars/Base'], 'field_malformed'],
  [['query', 'trends', 'shop', '--set', 'series=[{}]', '--set', 'formulas.0=A +'], 'formula_malformed'],
  [['query', 'top', 'shop', '--set', 'field.column=event', '--set', 'limit=0'], 'field_malformed'],
  [['query', 'live', 'shop', '--set', 'filters=[{}]'], 'field_missing'],
  [['query', 'top', 'shop', '--set', 'limit'], 'pair_malformed'],
  [['query', 'top', 'shop', '--where', 'size>big'], 'condition_malformed'],
  [['query', 'top', 'shop', '--since', '2026-13-01'], 'moment_malformed'],
  [['live', 'nowhere'], 'site_unknown'],
  [['live', 'shop', '--where', '=x'], 'condition_malformed'],
] as const)('%j: %s', async ([words, code]) => {
  const svc = await shop();
  expect(await svc(...words)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`svc: ${code}: `) });
});
