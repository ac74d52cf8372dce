import { expect, test } from 'vitest';
import { mergedDefinition } from '#services/dashboard/src/pages/engage/engage_item.ts';

const question = (id: string) => ({ id, text: 'Why?', branches: [{ to: ['a'] }] });
const [q1, q2, q3] = [question('q1'), question('q2'), question('q3')];
const loaded = { id: 'nps', title: 'A', theme: { accent: '#111111' }, questions: [q1, q2, q3], priority: 1 };
const merge = (mine: object, theirs: object) =>
  mergedDefinition(loaded, { ...loaded, ...mine }, { ...loaded, ...theirs });

test('fields of fields and questions that one left alone stay as somebody else has made them', () => {
  const { merged, replaced } = merge(
    { title: 'B', theme: { accent: '#111111', width: '9px' }, questions: [{ ...q1, text: 'Mine?' }, q2, q3] },
    {
      priority: 2,
      theme: { accent: '#222222' },
      questions: [{ ...q1, required: true }, q2, { ...q3, text: 'Theirs?' }],
    },
  );
  expect(merged).toEqual({
    ...{ id: 'nps', title: 'B', priority: 2, theme: { accent: '#222222', width: '9px' } },
    questions: [{ ...q1, text: 'Mine?', required: true }, q2, { ...q3, text: 'Theirs?' }],
  });
  expect(replaced).toEqual([]);
});

test('a field that somebody takes out is gone, unless the other has changed it and keeps it', () => {
  const { title: _title, priority: _priority, ...less } = loaded;
  expect(mergedDefinition(loaded, less, { ...loaded, title: 'C' }).merged).toEqual(less);
  expect(mergedDefinition(loaded, { ...loaded, title: 'B' }, less).merged).toEqual({ ...less, title: 'B' });
});

test('items that are added, removed and moved by one are so among those of the other', () => {
  const [q4, q5] = [{ id: 'q4' }, { id: 'q5' }];
  const order = (mine: object[], theirs: object[]): unknown => {
    const { merged, replaced } = merge({ questions: mine }, { questions: theirs });
    const ids = (merged as typeof loaded).questions.map(({ id }) => id).join(' ');
    return [ids, ...replaced];
  };
  expect(order([q1, q2, q3, q4], [q5, q1, q2, q3])).toEqual(['q5 q1 q2 q3 q4']);
  expect(order([q3, q1, q2], [q1, q2, q5, q3])).toEqual(['q3 q1 q2 q5']);
  expect(order([q1, q3], [q3, q2, q1])).toEqual(['q3 q1']);
  expect(order([{ ...q1, text: 'B' }, q2, q3], [q2, q3])).toEqual(['q1 q2 q3']);
  expect(order([q2, q1, q3], [q1, q3, q2])).toEqual(['q2 q1 q3', 'questions']);
  expect(order([q1, q2, q3, q4], [q1, q2, q3, { ...q4, text: 'C' }])).toEqual(['q1 q2 q3 q4', 'questions.q4']);
  expect(order([q1, q1, q3], [q1, q2])).toEqual(['q1 q1 q3', 'questions']);
});

test('lists of values are put together, and what has no name is replaced as a whole, which is said', () => {
  const targeting = (device: string[]): object => ({ targeting: { device } });
  expect(merge(targeting(['mobile', 'tablet']), targeting(['desktop'])).merged).toMatchObject(
    targeting(['mobile', 'tablet', 'desktop']),
  );
  const rule = (to: string): object => ({ questions: [{ ...q1, branches: [{ to: [to] }] }, q2, q3] });
  const { merged, replaced } = merge(rule('b'), rule('c'));
  expect(merged).toMatchObject(rule('b'));
  expect(replaced).toEqual(['questions.q1.branches']);
});

test('no translation is left of a question that one has removed and the other translated', () => {
  const translations = { nl: { 'questions.q3.text': 'Waarom?', title: 'Vraag' } };
  const { merged } = merge({ questions: [q1, q2] }, { translations });
  expect(merged).toMatchObject({ questions: [q1, q2], translations: { nl: { title: 'Vraag' } } });
  expect(JSON.stringify(merged)).not.toContain('q3');
});
