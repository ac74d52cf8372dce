import { expect, test } from 'vitest';
import { ENGAGE_EXAMPLES } from '#services/control/engage/routes.ts';
import { moved } from '#services/dashboard/src/format.ts';
import {
  definitionFacts,
  freeId,
  itemNames,
  KINDS,
  type Path,
  pathName,
  sentDefinition,
  textOf,
  textsName,
  textWith,
  translatedNames,
  valueAt,
  withNames,
  withValue,
} from '#services/dashboard/src/pages/engage/engage_item.ts';
import {
  checkDefinition,
  languagesOf,
  previewItem,
  readMoment,
  readNumber,
  readSeconds,
  withChosen,
  writtenMoment,
  writtenSeconds,
} from '#services/dashboard/src/pages/engage/form/definition_values.ts';

const EXAMPLES = {
  survey: ENGAGE_EXAMPLES['createSurvey'] ?? {},
  promo: ENGAGE_EXAMPLES['createPromo'] ?? {},
  form: ENGAGE_EXAMPLES['createForm'] ?? {},
};

test.for(KINDS)(
  'a new $one is right as it is, and so is the example of the API; each can be drawn',
  ({ kind, blank }) => {
    for (const definition of [blank, EXAMPLES[kind]]) {
      const { problems, drawable } = checkDefinition(kind, definition);
      expect(problems).toEqual([]);
      expect(drawable).toMatchObject(definition);
    }
  },
);

test('a field that is changed leaves all others as they are, those too that no form has', () => {
  const definition = {
    id: 'a',
    later: { x: [1] },
    questions: [{ id: 'q1', branches: [{ go_to: 'end' }] }, { id: 'q2' }],
  };
  const changed = withValue(definition, ['questions', 0, 'text'], 'Why?');
  expect(changed).toEqual({
    ...definition,
    questions: [{ id: 'q1', branches: [{ go_to: 'end' }], text: 'Why?' }, { id: 'q2' }],
  });
  expect(withValue(definition, ['theme', 'accent'], '#123456')).toEqual({
    ...definition,
    theme: { accent: '#123456' },
  });
  expect(withValue({ a: 1, theme: { accent: '#1', text: '#2' } }, ['theme', 'accent'], undefined)).toEqual({
    ...{ a: 1, theme: { text: '#2' } },
  });
  // To write what is there changes nothing of the text either.
  expect(textWith(textOf(definition), ['id'], 'a')).toBe(textOf(definition));
  expect(textWith('{"id":', ['enabled'], true)).toBe('{"id":');
});

test('what is no place, and what is of another type, is no value', () => {
  for (const definition of [null, 'text', { questions: 'none' }, { questions: [null] }]) {
    expect(valueAt(definition, ['questions', 0, 'text'])).toBeUndefined();
  }
  expect(valueAt({}, ['constructor'])).toBeUndefined();
  expect(pathName(['questions', 0, 'choices', 1, 'label'])).toBe('questions[0].choices[1].label');
});

test('items move, and new ones get ids that none has', () => {
  expect(moved(['a', 'b', 'c'], 2, 0)).toEqual(['c', 'a', 'b']);
  expect(moved(['a', 'b', 'c'], 0, 1)).toEqual(['b', 'a', 'c']);
  const used = ['questions.q1', 'questions.q3'];
  expect(freeId('q', 3, (id) => used.includes(`questions.${id}`))).toBe('q4');
});

test('items go by their ids in the names of their texts, in whatever list they are', () => {
  const definition = {
    questions: [
      { id: 'q1', choices: [{ id: 'c1' }, null] },
      { id: 'q2', branches: [{ is: 'in', to: ['c1'] }] },
    ],
    fields: [{ name: 'email' }, 'odd'],
    translations: { nl: { 'questions.q3.text': 'x', title: 'y' }, fr: 'odd' },
  };
  expect(textsName(definition, ['questions', 0, 'choices'])).toBe('questions.q1.choices');
  expect(itemNames(definition)).toEqual(['questions.q1', 'questions.q1.choices.c1', 'questions.q2', 'fields.email']);
  expect(translatedNames(definition)).toEqual(['questions', 'questions.q3', 'questions.q3.text', 'title']);
  for (const odd of [null, 5, { translations: 'x' }]) expect([itemNames(odd), translatedNames(odd)]).toEqual([[], []]);
});

test('texts in other languages go with their item where it is removed, and along where it gets another id', () => {
  const texts = (...names: string[]): object => ({
    nl: Object.fromEntries(names.map((name) => [name, 'x'])),
    fr: 'odd',
  });
  const questions = [{ id: 'q1', choices: [{ id: 'c1' }] }, { id: 'q10' }, { id: 'q2' }];
  const all = ['title', 'questions.q1.text', 'questions.q1.choices.c1.label', 'questions.q10.text'];
  const definition = { questions, translations: texts(...all) };
  const changes: [Path, unknown, string[]][] = [
    [['questions'], questions.slice(1), ['title', 'questions.q10.text']],
    [['questions'], moved(questions, 0, 2), all],
    [['questions', 0, 'choices'], [], ['title', 'questions.q1.text', 'questions.q10.text']],
    [['questions', 0, 'choices', 0, 'id'], 'yes', all.map((name) => name.replace('c1', 'yes'))],
    [['questions', 0, 'id'], 'q10', all],
    [['questions', 0, 'id'], 'why', all.map((name) => name.replace('q1.', 'why.'))],
    [['questions', 0, 'text'], 'Why?', all],
  ];
  for (const [path, value, left] of changes) {
    expect(withNames(definition, path, value)).toEqual({
      ...(withValue(definition, path, value) as object),
      translations: texts(...left),
    });
  }
  const fields = { fields: [{ name: 'email' }], translations: texts('fields.email.label') };
  expect(withNames(fields, ['fields', 0, 'name'], 'mail')).toMatchObject({ translations: texts('fields.mail.label') });
});

test('lines that are empty while somebody types are not sent', () => {
  const typed = { id: 'a', targeting: { url_pattern: ['/a*', '', ' /b '], country: ['BE', ''] } };
  expect(sentDefinition(typed)).toEqual({ id: 'a', targeting: { url_pattern: ['/a*', '/b'], country: ['BE'] } });
  expect(sentDefinition({ targeting: 'none' })).toEqual({ targeting: 'none' });
});

test('numbers, seconds and moments come back as they were; what is none of them stays as it was typed', () => {
  expect([readNumber('12'), readNumber(' 0.5 '), readNumber('many'), readNumber(''), readNumber('', null)]).toEqual([
    ...[12, 0.5, 'many', '', null],
  ]);
  expect([readSeconds('1.5'), readSeconds('', 0), readSeconds('')]).toEqual([1500, 0, '']);
  expect([writtenSeconds(1500), writtenSeconds('soon')]).toEqual(['1.5', 'soon']);
  for (const ms of [Date.UTC(2027, 0, 2), Date.UTC(2027, 6, 1, 12, 30, 15)])
    expect(readMoment(writtenMoment(ms))).toBe(ms);
  expect([writtenMoment(null), readMoment('')]).toEqual(['', null]);
});

test('a chosen value that is no longer offered keeps a box, once', () => {
  const offered = [{ value: 'a', label: 'Prices' }];
  expect(withChosen(offered, ['gone', 'a', 7, 'gone', null])).toEqual([
    ...[...offered, { value: 'gone', label: 'gone' }, { value: 7, label: '7' }],
  ]);
});

test('a check says each field by the name that the form has it under', () => {
  const wrong = { ...EXAMPLES.survey, name: '', share_percent: 'half', theme: { accent: 'red' }, later: 1 };
  expect(
    checkDefinition('survey', wrong)
      .problems.map(({ field }) => field)
      .sort(),
  ).toEqual([...['later', 'name', 'share_percent', 'theme.accent']]);
  expect(checkDefinition('survey', wrong).drawable).toBeNull();
  // Browsers throw at a field of so many characters.
  const negative = [{ id: 'q', type: 'open', text: 'Why?', max_length: -1 }];
  expect(checkDefinition('survey', { ...EXAMPLES.survey, questions: negative }).drawable).toBeNull();
  const questions = [{ id: 'q', type: 'single', text: '', choices: [{ id: 'a', label: '' }] }];
  const unfinished = checkDefinition('survey', { ...EXAMPLES.survey, translations: {}, questions });
  expect(unfinished.problems.map(({ field }) => field)).toEqual([
    ...['questions[0].text', 'questions[0].choices', 'questions[0].choices[0].label'],
  ]);
  expect(unfinished.drawable).not.toBeNull();
  const { problems } = checkDefinition('promo', { ...EXAMPLES.promo, place: 'inline', show: { on: 'click' } });
  expect(problems.map(({ field }) => field)).toEqual(['show.selector', 'mount']);
});

test('whatever stands under Advanced, the form can be drawn with it', () => {
  const { survey } = EXAMPLES;
  const odd = [null, 'x', 5, [null], { a: 1 }, [{ id: null, choices: 'x' }]];
  const fields = ['questions', 'targeting', 'theme', 'translations', 'show', 'thanks', 'starts_at', 'constructor'];
  for (const field of fields) {
    for (const value of odd) {
      const { drawable } = checkDefinition('survey', { ...survey, [field]: value });
      for (const locale of drawable === null ? [] : languagesOf(drawable)) {
        expect(drawable && previewItem('survey', drawable, locale).kind).toBe('survey');
      }
    }
  }
});

test('a preview has the texts of a language, and no address', () => {
  const { drawable } = checkDefinition('survey', {
    ...EXAMPLES.survey,
    questions: [{ id: 'q', type: 'link', text: 'Rate us', url: 'https://shop.example/rate' }],
    translations: { nl: { title: 'Vraag' } },
    theme: { accent: '#123456', background: 'url(https://shop.example/x.png)' },
  });
  if (drawable === null) throw new Error('cannot be drawn');
  expect(languagesOf(drawable)).toEqual(['en', 'nl']);
  const item = previewItem('survey', drawable, 'nl');
  expect(item.content).toMatchObject({
    title: 'Vraag',
    questions: [{ url: '#', button: 'https://shop.example/rate' }],
  });
  const promo = checkDefinition('promo', { ...EXAMPLES.promo, button: { text: 'Go', url: 'javascript:alert(1)' } });
  expect(promo.drawable && previewItem('promo', promo.drawable, 'en').content).toMatchObject({ button: { url: '#' } });
});

test('what was typed is what is sent, for every example', () => {
  for (const example of Object.values(EXAMPLES))
    expect(sentDefinition(definitionFacts(textOf(example)))).toEqual(example);
});
