import { expect, test } from 'vitest';
import { contentOf, panelWords } from '#pipelines/engage/content.ts';
import { readDefinition } from '#pipelines/engage/site_engage.ts';

const QUESTION = { id: 'q', type: 'open', text: 'How was it?' };

/** What a browser is told of a survey, in one language. */
function toldOf(survey: object, locale: string): Record<string, unknown> {
  const read = readDefinition('survey', { id: 's', name: 'S', questions: [QUESTION], ...survey });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return JSON.parse(`${contentOf('survey', 1, read.definition, locale)}}`) as Record<string, unknown>;
}

test('the words of a panel are in the language of its texts, else in English', () => {
  expect(panelWords('nl-BE').next).toBe('Volgende');
  expect(panelWords('fi').next).toBe('Next');
  expect(panelWords('constructor').next).toBe('Next');
});

test('every language has every word', () => {
  for (const locale of ['en', 'de', 'fr', 'nl', 'es', 'it', 'pt', 'pl', 'ar']) {
    expect(Object.values(panelWords(locale)), locale).not.toContain('');
  }
});

test('a browser is told the direction of the language', () => {
  expect(toldOf({}, 'en')).toMatchObject({ dir: 'ltr' });
  expect(toldOf({}, 'he-IL')).toMatchObject({ dir: 'rtl' });
});

test('a panel is called by its title, else by its first question, in the language of its texts', () => {
  const translations = { nl: { 'questions.q.text': 'Hoe was het?' } };
  expect(toldOf({ title: 'A word' }, 'en')).toMatchObject({ label: 'A word' });
  expect(toldOf({ translations }, 'nl')).toMatchObject({ label: 'Hoe was het?' });
});

/** What follows each question, and whether it is the last one. */
function waysOf(questions: object[]): unknown[] {
  const { content } = toldOf({ questions }, 'en') as { content: { questions: { next: string; last: boolean }[] } };
  return content.questions.map(({ next, last }) => [next, last]);
}

test('a browser is told what comes after each question, and which one is the last whatever is answered', () => {
  const [a, b] = ['a', 'b'].map((id) => ({ ...QUESTION, id }));
  const toB = { is: 'skipped', go_to: 'b' };
  expect(waysOf([{ ...a }, { ...b }])).toEqual([
    ['b', false],
    ['end', true],
  ]);
  expect(waysOf([{ ...a, next: 'end' }, { ...b }])[0]).toEqual(['end', true]);
  expect(waysOf([{ ...a, next: 'end', branches: [toB] }, { ...b }])[0]).toEqual(['end', false]);
});
