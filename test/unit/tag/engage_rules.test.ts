import { expect, test } from 'vitest';
import { nextQuestion } from '#pipelines/engage/next_question.ts';
import { answerOf, stepsOf } from '#services/engage_panels/panels.ts';
import type { Question, Show } from '#services/engage_panels/shown_item.ts';
import { countryOf, deviceOf, localeOf, mayAppear } from '#services/tag/src/engage/placing.ts';
import { type SeenItems, withDone, withShown } from '#services/tag/src/engage/reports.ts';

type Branch = Question['branches'][number];

const question = (told: Partial<Question>): Question => ({
  id: 'q',
  type: 'single',
  text: '?',
  description: '',
  required: false,
  scale: 5,
  display: 'number',
  low_label: '',
  high_label: '',
  choices: [],
  open_choice: false,
  shuffle: false,
  max_length: 1000,
  url: '',
  button: '',
  branches: [],
  next: 'end',
  last: true,
  ...told,
});

/** Where an answer to the first of three questions leads. */
const led = (branch: Branch, answer: Parameters<typeof nextQuestion>[2]): string => {
  const first = question({ id: 'a', branches: [branch], next: 'b' });
  const all = [first, question({ id: 'b' }), question({ id: 'c' })];
  return all[nextQuestion(all, first, answer)]?.id ?? 'end';
};

test.for([
  [{ is: 'equals', to: ['yes'], go_to: 'c' }, 'yes', 'c'],
  [{ is: 'equals', to: ['yes'], go_to: 'c' }, 'no', 'b'],
  [{ is: 'in', to: ['x', 'y'], go_to: 'c' }, ['z', 'y'], 'c'],
  [{ is: 'in', to: ['x', 'y'], go_to: 'c' }, undefined, 'b'],
  [{ is: 'at_least', to: [9], go_to: 'end' }, 9, 'end'],
  [{ is: 'at_least', to: [9], go_to: 'end' }, 8, 'b'],
  [{ is: 'at_most', to: [6], go_to: 'c' }, 0, 'c'],
  [{ is: 'at_most', to: [6], go_to: 'c' }, undefined, 'b'],
  [{ is: 'answered', to: [], go_to: 'c' }, true, 'c'],
  [{ is: 'answered', to: [], go_to: 'c' }, undefined, 'b'],
  [{ is: 'skipped', to: [], go_to: 'c' }, undefined, 'c'],
] satisfies [Branch, unknown, string][])('%j leads from %j to %s', ([branch, answer, to]) => {
  expect(led(branch, answer as Parameters<typeof nextQuestion>[2])).toBe(to);
});

test('what was chosen and written becomes the answer of its type, and nothing where there is none', () => {
  expect(answerOf(question({ type: 'rating' }), ['0'], '')).toBe(0);
  expect(answerOf(question({ type: 'rating' }), [], '')).toBeUndefined();
  expect(answerOf(question({ type: 'open' }), [], '  too slow ')).toBe('too slow');
  expect(answerOf(question({ type: 'open' }), [], ' ')).toBeUndefined();
  expect(answerOf(question({ type: 'link' }), ['1'], '')).toBe(true);
  expect(answerOf(question({ type: 'single' }), ['yes'], '')).toBe('yes');
  expect(answerOf(question({ type: 'multiple' }), ['x', 'y'], '')).toEqual(['x', 'y']);
  expect(answerOf(question({ type: 'multiple' }), [], '')).toBeUndefined();
});

test('an answer of the visitor’s own stands in the place of its empty id', () => {
  expect(answerOf(question({ type: 'single', open_choice: true }), [''], 'by boat')).toBe('by boat');
  expect(answerOf(question({ type: 'multiple', open_choice: true }), ['x', ''], 'by boat')).toEqual(['x', 'by boat']);
  expect(answerOf(question({ type: 'single', open_choice: true }), [''], ' ')).toBeUndefined();
});

test('a rating has its steps from 1, a net promoter score from 0 to 10', () => {
  expect(stepsOf(question({ scale: 3 }))).toEqual([1, 2, 3]);
  expect([stepsOf(question({ scale: 11 })).at(0), stepsOf(question({ scale: 11 })).at(-1)]).toEqual([0, 10]);
});

const LOAD = { on: 'load' } as Show;
const CLICK = { on: 'click' } as Show;

test('above the page is one at a time, and one on a page unless the visitor asks for it', () => {
  const none = { isOpen: false, wasOpen: false };
  expect(mayAppear({ place: 'popover', show: LOAD }, none)).toBe(true);
  expect(mayAppear({ place: 'popover', show: LOAD }, { isOpen: false, wasOpen: true })).toBe(false);
  expect(mayAppear({ place: 'modal', show: CLICK }, { isOpen: false, wasOpen: true })).toBe(true);
  expect(mayAppear({ place: 'modal', show: CLICK }, { isOpen: true, wasOpen: true })).toBe(false);
  expect(mayAppear({ place: 'inline', show: LOAD }, { isOpen: true, wasOpen: true })).toBe(true);
});

test('a browser remembers how often it showed an item, and when it was answered', () => {
  const shown = withShown(withShown({}, 'survey:nps', 1), 'survey:nps', 2);
  expect(shown).toEqual({ 'survey:nps': { n: 2, last: 2 } });
  expect(withDone(shown, 'survey:nps', 3)).toEqual({ 'survey:nps': { n: 2, last: 2, done: 3 } });
  expect(withShown(withDone(shown, 'survey:nps', 3), 'survey:nps', 4)['survey:nps']).toEqual({
    n: 3,
    last: 4,
    done: 3,
  });
});

test('a browser remembers as many items as the edge reads, and forgets those shown longest ago', () => {
  let seen: SeenItems = {};
  for (let at = 0; at < 151; at += 1) seen = withShown(seen, `promo:p${at}`, at);
  expect(Object.keys(seen)).toHaveLength(150);
  expect(seen['promo:p0']).toBeUndefined();
  expect(seen['promo:p150']).toEqual({ n: 1, last: 150 });
});

test('a visitor is shown the language of the page, with the region that the browser names for it', () => {
  expect(localeOf('nl', 'nl-BE')).toBe('nl-BE');
  expect(localeOf('nl', 'de-AT')).toBe('nl');
  expect(localeOf('nl-NL', 'nl-BE')).toBe('nl-NL');
  expect(localeOf('', 'de-AT')).toBe('de-AT');
  expect(localeOf('{{lang}}', 'de-AT')).toBe('de-AT');
});

test('the country is the region of the language, and never its script', () => {
  expect([countryOf('de-AT'), countryOf('zh-Hant-TW'), countryOf('sr-Latn'), countryOf('en')]).toEqual([
    'AT',
    'TW',
    undefined,
    undefined,
  ]);
});

test('a device is told by how it is pointed at, and by its screen', () => {
  expect([deviceOf(false, 500), deviceOf(true, 390), deviceOf(true, 820)]).toEqual(['desktop', 'mobile', 'tablet']);
});
