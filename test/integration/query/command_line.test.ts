import { expect, test } from 'vitest';
import type { FunnelAnswer } from '#pipelines/query/funnel_answer.ts';
import { runCli } from '#services/cli/run.ts';
import { createControlClient } from '#services/control/client.ts';
import { TOKEN } from '#test/unit/control/harness.ts';
import { purchaseFunnel, storedRow } from './few_rows.ts';
import { useQueryWorld } from './query_world.ts';

const create = useQueryWorld();
const STEPS = ['--step', 'page_view', '--step', 'purchase?plan=paid', '--since', '2026-10-01', '--until', '2026-11-01'];

async function shop() {
  const world = await create();
  await world.store([
    [
      storedRow('a', 'page_view', 0, { properties: '{"plan":"free"}' }),
      storedRow('a', 'purchase', 1, { properties: '{"plan":"paid"}' }),
      storedRow('b', 'page_view', 2, { properties: '{"plan":"free, \\"so\\""}' }),
    ],
  ]);
  const svc = async (...words: string[]) =>
    runCli(['funnel', 'show', ...words], {
      openContext: async () => ({
        client: createControlClient(world.control.transport, TOKEN),
        nowMs: purchaseFunnel.to,
        readFile: () => '',
        readStdin: () => '',
        watch: { say: () => undefined, sleep: async () => undefined },
      }),
      status: { readReadyFile: () => null, fetched: async () => null },
    });
  return svc;
}

test('a funnel is drawn', async () => {
  const svc = await shop();
  const { stdout, exitCode } = await svc('shop', ...STEPS, '--trend', 'day', '--breakdown', 'plan@first_touch');
  expect(exitCode).toBe(0);
  expect(stdout).toMatchInlineSnapshot(`
    "shop, 2026-10-01 to 2026-10-31, by person

         STEP                                                REACHED  OF FIRST  OF PREV.   MEDIAN TIME
       1 page_view           ████████████████████████████          2   100.0 %   100.0 %
       2 purchase?plan=paid  ██████████████                        1    50.0 %    50.0 %   1.0 min

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
  const answer = JSON.parse((await svc('shop', ...STEPS, '--json')).stdout) as FunnelAnswer;
  expect(answer.steps.map(({ reached }) => reached)).toEqual([2, 1]);
  const csv = await svc('shop', ...STEPS, '--breakdown', 'plan', '--csv');
  expect(csv.stdout.split('\r\n')).toEqual([
    'group,value,step,name,reached,of_first,of_previous,median_ms,p90_ms,average_ms',
    'all,,1,page_view,2,1,1,0,0,0',
    'all,,2,purchase?plan=paid,1,0.5,0.5,60000,60000,60000',
    'value,free,1,page_view,1,1,1,0,0,0',
    'value,free,2,purchase?plan=paid,1,1,1,60000,60000,60000',
    'value,"free, ""so""",1,page_view,1,1,1,0,0,0',
    'value,"free, ""so""",2,purchase?plan=paid,0,0,0,,,\n',
  ]);
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
  expect(await svc(...words)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`svc: ${code}: `) });
});
