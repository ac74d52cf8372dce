import { expect, test } from 'vitest';
import type { FormResults, PromoResults, SurveyResults } from '#pipelines/analytics/engage_results.ts';
import { purchaseFunnel, storedRow } from './few_rows.ts';
import { useQueryWorld } from './query_world.ts';
import { commandLine } from './typed_command.ts';

const create = useQueryWorld();
const { from, to } = purchaseFunnel;
const range = { from, to };

let minute = 0;
interface Told {
  submission_id?: string;
  impression_id?: string;
  [name: string]: unknown;
}

/** An event of a showing, a minute after the one before. */
function row(person: string, event: string, properties: Told, value: number | null = null) {
  minute += 1;
  const item = ['survey', 'promotion', 'form'].map((kind) => [kind.replace('otion', 'o'), properties[`${kind}_id`]]);
  const name = item.find(([, id]) => id !== undefined)?.join(':');
  const currency = value === null ? '' : 'EUR';
  const event_id = `${properties.submission_id ?? properties.impression_id ?? ''}:${name}:${event}:${minute}`;
  return storedRow(person, event, minute, { event_id, properties: JSON.stringify(properties), value, currency });
}

const survey = (person: string, submission_id: string, survey_status: string, answers: object = {}) =>
  row(person, survey_status === 'shown' ? 'survey_shown' : 'survey_answered', {
    survey_id: 'nps',
    submission_id,
    survey_status,
    ...answers,
  });

const SURVEY_ROWS = [
  ...['a', 'b', 'c', 'd'].map((person) => survey(person, person, 'shown')),
  survey('a', 'a', 'partial', { answer_score: 3, nps_class: 'detractor' }),
  survey('a', 'a', 'completed', { answer_score: 9, nps_class: 'promoter', answer_all: ['x', 'y'], answer_why: '5' }),
  survey('b', 'b', 'completed', { answer_score: 10, nps_class: 'promoter', answer_all: ['x'] }),
  survey('c', 'c', 'partial', { answer_score: 4, nps_class: 'detractor' }),
  survey('c', 'c', 'dismissed'),
  row('e', 'survey_shown', { survey_id: 'other', submission_id: 'e', survey_status: 'shown' }),
];

test('a survey counts each showing by its last answers', async () => {
  const world = await create();
  await world.store([SURVEY_ROWS]);
  const results = await world.ask<SurveyResults>('survey', { ...range, id: 'nps' });
  expect(results).toMatchObject({
    shown: { times: 4, persons: 4 },
    answered: { times: 3 },
    completed: { times: 2 },
    dismissed: { times: 1 },
    completion: 0.5,
    nps: { promoters: 2, passives: 0, detractors: 1, score: (1 / 3) * 100 },
  });
  expect(results.questions).toEqual([
    {
      id: 'all',
      answers: 3,
      respondents: { times: 2, persons: 2 },
      average: null,
      values: [
        { value: 'x', times: 2, persons: 2 },
        { value: 'y', times: 1, persons: 1 },
      ],
      more_values: false,
    },
    {
      id: 'score',
      answers: 3,
      respondents: { times: 3, persons: 3 },
      average: 23 / 3,
      values: ['10', '4', '9'].map((value) => ({ value, times: 1, persons: 1 })),
      more_values: false,
    },
    {
      id: 'why',
      answers: 1,
      respondents: { times: 1, persons: 1 },
      average: null,
      values: [{ value: '5', times: 1, persons: 1 }],
      more_values: false,
    },
  ]);
  const few = await world.ask<SurveyResults>('survey', { ...range, id: 'nps', limit: 1 });
  expect(few.questions[1]).toMatchObject({ answers: 3, average: 23 / 3, values: [{ value: '10' }], more_values: true });
  const svc = commandLine(world, to);
  const { stdout } = await svc('query', 'survey', 'shop', '--set', 'id=nps', '--since', '2026-10-01');
  expect(stdout).toMatch(/nps\.score.*\n.* 33\.3/);
});

test('a promo counts impressions, and how many of them were clicked', async () => {
  const world = await create();
  const promo = (person: string, impression_id: string, event: string, value: number | null = null) =>
    row(person, event, { promotion_id: 'sale', impression_id }, value);
  await world.store([
    [
      ...['1', '2', '3', '4'].map((id) => promo('a', id, 'view_promotion')),
      promo('b', '5', 'view_promotion'),
      promo('a', '1', 'select_promotion'),
      promo('b', '5', 'promotion_redeemed', 12.5),
      // What a page tells GA4 by itself.
      row('c', 'view_promotion', { promotion_id: 'sale' }),
      storedRow('c', 'select_promotion', 1, {
        properties: JSON.stringify({ promotion_id: 'sale', impression_id: '6' }),
      }),
      // What somebody sends as an event like ours.
      ...['7', '7:click', '7:promo:other:click'].map((event_id) =>
        storedRow('c', 'select_promotion', 1, {
          event_id,
          properties: JSON.stringify({ promotion_id: 'sale', impression_id: '7' }),
        }),
      ),
    ],
  ]);
  expect(await world.ask<PromoResults>('promo', { ...range, id: 'sale' })).toMatchObject({
    viewed: { times: 5, persons: 2 },
    clicked: { times: 1, persons: 1 },
    redeemed: { times: 1, persons: 1, sums: [{ currency: 'EUR', sum: 12.5 }] },
    code_copied: { times: 0 },
    conversion: 0.2,
  });
});

test('a form counts leads by where they came from', async () => {
  const world = await create();
  const form = (person: string, event: string, more: object = {}, value: number | null = null) =>
    row(person, event, { form_id: 'quote', submission_id: person, ...more }, value);
  await world.store([
    [
      ...['a', 'b', 'c', 'd'].map((person) => form(person, 'form_shown')),
      form('a', 'generate_lead', { utm_source: 'newsletter', $referrer: 'https://mail.example/' }, 10),
      form('b', 'generate_lead', { utm_source: 'newsletter' }, 20),
      row('d', 'form_start', { form_id: 'quote' }),
      form('c', 'quote_requested', { $referrer: 'https://www.search.example/?q=x' }),
      // Plain forms are shown by no script.
      form('p', 'generate_lead', {}, 5),
      form('q', 'generate_lead', {}, 5),
    ],
  ]);
  expect(await world.ask<FormResults>('form', { ...range, id: 'quote' })).toMatchObject({
    shown: { times: 4 },
    submitted: { times: 5, persons: 5, sums: [{ currency: 'EUR', sum: 40 }] },
    unshown: 2,
    conversion: 0.75,
    sources: [
      { value: '', times: 2, persons: 2, sums: [{ currency: 'EUR', sum: 10 }] },
      { value: 'newsletter', times: 2, persons: 2, sums: [{ currency: 'EUR', sum: 30 }] },
      { value: 'search.example', times: 1, persons: 1, sums: [] },
    ],
    more_sources: false,
  });
});

test('what nobody saw is nothing, and an id that is none is refused', async () => {
  const world = await create();
  await world.store([SURVEY_ROWS]);
  const nobody = await world.ask<SurveyResults>('survey', { ...range, id: 'none' });
  expect(nobody).toMatchObject({ shown: { times: 0 }, completion: null, nps: null, questions: [] });
  await expect(world.ask('survey', { ...range, id: "' OR 1=1 --" })).rejects.toThrow('400');
});
