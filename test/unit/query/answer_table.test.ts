import { expect, test } from 'vitest';
import { answerTable, csvOf } from '#pipelines/analytics/answer_table.ts';

test('an answer is a row for itself and one for each element of its lists, with what it is inside of', () => {
  const steps = [
    { reached: 2, time_ms: null },
    { reached: 1, time_ms: { median: 5 } },
  ];
  expect(answerTable({ steps, breakdown: [{ value: 'a', steps }], more: false, other: null })).toEqual({
    columns: ['part', 'number', 'more', 'reached', 'time_ms.median', 'value', 'breakdown.number', 'breakdown.value'],
    rows: [
      ['answer', null, false, null, null, null, null, null],
      ['steps', 1, null, 2, null, null, null, null],
      ['steps', 2, null, 1, 5, null, null, null],
      ['breakdown', 1, null, null, null, 'a', null, null],
      ['breakdown.steps', 1, null, 2, null, null, 1, 'a'],
      ['breakdown.steps', 2, null, 1, 5, null, 1, 'a'],
    ],
  });
});

test('numbers of a list have a row each, and properties are one cell', () => {
  expect(answerTable({ cohorts: [{ from: 7, returned: [3, 0], properties: { a: [1] } }] })).toEqual({
    columns: ['part', 'number', 'from', 'properties', 'cohorts.number', 'cohorts.from', 'cohorts.properties', 'value'],
    rows: [
      ['cohorts', 1, 7, '{"a":[1]}', null, null, null, null],
      ['cohorts.returned', 1, null, null, 1, 7, '{"a":[1]}', 3],
      ['cohorts.returned', 2, null, null, 1, 7, '{"a":[1]}', 0],
    ],
  });
});

test('no text of a CSV is a formula, and numbers stay numbers', () => {
  const texts = ['=1+1', '+1', '-1', '@sum', '\t=1', '\r=1', 'x;=1', 'a=1', ''];
  const table = { columns: ['text', 'number'], rows: texts.map((text) => [text, -1]) };
  const quotedLines = ["'=1+1", "'+1", "'-1", "'@sum", '"\'\t=1"', '"\'\r=1"', '"x;=1"', 'a=1', ''];
  expect(csvOf(table)).toBe(['text,number', ...quotedLines.map((text) => `${text},-1`), ''].join('\r\n'));
});

test('commas, quotes and ends of lines of a CSV are quoted', () => {
  expect(
    csvOf({
      columns: ['a', 'b'],
      rows: [
        ['x,"y"', 'one\r\ntwo'],
        [null, true],
      ],
    }),
  ).toBe('a,b\r\n"x,""y""","one\r\ntwo"\r\n,true\r\n');
});
