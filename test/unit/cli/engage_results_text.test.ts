import { expect, test } from 'vitest';
import { readDefinition } from '#pipelines/engage/site_engage.ts';
import type { Survey } from '#pipelines/engage/survey.ts';
import { formText, promoText, surveyText } from '#services/cli/engage.ts';

const reached = (times: number, persons = times) => ({ times, persons });

function survey(): Survey {
  const choices = [
    { id: 'price', label: 'The prices' },
    { id: 'choice', label: 'The choice' },
  ];
  const questions = [
    { id: 'score', type: 'rating', scale: 11, text: 'How likely is it?' },
    { id: 'better', type: 'multiple', text: 'What should be better?', choices },
  ];
  const read = readDefinition('survey', { id: 'nps', name: 'NPS', questions });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.definition;
}

const RESULTS = {
  shown: reached(4),
  answered: reached(3),
  completed: reached(2),
  dismissed: reached(1),
  completion: 0.5,
  nps: { promoters: 1, passives: 0, detractors: 2, score: -33 },
  questions: [
    {
      ...{ id: 'better', answers: 3, respondents: reached(2), average: null, more_values: true },
      values: [
        { value: 'price', ...reached(2) },
        { value: 'by boat', ...reached(1) },
      ],
    },
    { id: 'gone', answers: 1, respondents: reached(1), average: null, values: [], more_values: false },
    {
      ...{ id: 'score', answers: 3, respondents: reached(3, 2), average: 17 / 3, more_values: false },
      values: [
        { value: '3', ...reached(2, 1) },
        { value: '10', ...reached(1) },
        { value: '9', ...reached(1) },
      ],
    },
  ],
};

test('a survey is told in its own order and words, ratings by their steps with an average', () => {
  const lines = surveyText(RESULTS, survey()).split('\n').slice(6);
  expect(lines).toEqual([
    'Completed of those shown: 50.0 %',
    'Net promoter score: -33',
    '',
    'score: How likely is it?',
    'Answered 3 times by 2 persons, on average 5.67',
    'ANSWER  TIMES  PERSONS',
    '3       2      1',
    '9       1      1',
    '10      1      1',
    '',
    'better: What should be better?',
    'Answered 2 times by 2 persons',
    'ANSWER              TIMES  PERSONS',
    'The prices (price)  2      2',
    'by boat             1      1',
    '…',
    '',
    'gone',
    'Answered 1 times by 1 persons',
    '',
  ]);
});

test('a survey that was removed has its results by ids', () => {
  expect(surveyText(RESULTS)).toContain('\nbetter\nAnswered 2 times');
});

test('amounts have their currency', () => {
  const redeemed = {
    ...reached(3),
    sums: [
      { currency: 'EUR', sum: 63 },
      { currency: '', sum: 5 },
    ],
  };
  const none = { viewed: reached(5), clicked: reached(1), dismissed: reached(0), code_copied: reached(0) };
  expect(promoText({ ...none, redeemed, conversion: 0.2 })).toContain('Redeemed: 63 EUR, 5 -');
});

test('plain forms are told apart from those that were shown', () => {
  const submitted = { ...reached(5), sums: [{ currency: 'EUR', sum: 40 }] };
  const text = formText({
    ...{ shown: reached(4), submitted, unshown: 2, dismissed: reached(0), conversion: 0.75 },
    ...{ sources: [], more_sources: false },
  });
  expect(text).toContain('Sent of those shown: 75.0 %\nSent without being shown, as plain forms: 2\nWorth: 40 EUR\n');
});
