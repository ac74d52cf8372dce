import { expect, test } from 'vitest';
import { createBinder, ROWS } from '#pipelines/analytics/sql/statement.ts';
import {
  type DocumentedQuestion,
  documentedQuestions,
  questionsByPageRules,
  selectedByPersons,
} from '#test/harness/documented_questions.ts';

const bytesOf = ({ statement }: DocumentedQuestion): number => Buffer.byteLength(statement.sql);
/** What is looked at are visits made once more, and orders are put together. */
const isOfSeveral = ({ name }: DocumentedQuestion): boolean => /attention|^revenue/.test(name);

test.for([...documentedQuestions('none', 'property', 'person'), ...selectedByPersons(), ...questionsByPageRules()])(
  'the SQL of $name has at most 8 kB',
  (question) => {
    expect(bytesOf(question)).toBeLessThanOrEqual(isOfSeveral(question) ? 10_250 : 8_192);
  },
);

test.for([
  ['persons', 9_000, 11_250],
  ['a cohort', 9_000, 11_250],
  ['five persons', 13_500, 15_750],
] as const)(
  'with conditions on %s the SQL of every question has at most %i bytes',
  ([filtered, most, mostOfSeveral]) => {
    for (const question of documentedQuestions(filtered)) {
      expect(bytesOf(question), question.name).toBeLessThanOrEqual(isOfSeveral(question) ? mostOfSeveral : most);
    }
  },
);

test('no SELECT has the text of a property written out twice', () => {
  const text = /if\(startsWith\((.+?), '"'\), if\(position/g;
  for (const { name, statement } of documentedQuestions('none', 'property')) {
    for (const leaf of statement.sql.split('SELECT')) {
      const texts = [...leaf.matchAll(text)].map(([, json]) => json);
      expect(texts.length, `${name}: ${leaf}`).toBe(new Set(texts).size);
    }
  }
});

test('what a SELECT names once is written where it stands, and what it names twice in front of it', () => {
  const binder = createBinder();
  const inner = binder.name('lower(city)');
  const outer = binder.name(`length(${inner})`);
  const other = binder.name('upper(state)');
  expect(binder.name('lower(city)')).toBe(inner);
  expect(binder.withNames(`SELECT ${outer}, ${outer} + ${other} FROM rows`)).toBe(
    'WITH length((lower(city))) AS v1 SELECT v1, v1 + (upper(state)) FROM rows',
  );
  expect(binder.withNames('SELECT city FROM rows')).toBe('SELECT city FROM rows');
  expect(binder.inside().name('lower(city)')).not.toBe(inner);
});

test('a SELECT that a statement has twice is written once, and what it has in common with others before it', () => {
  const binder = createBinder();
  const common = binder.shared('SELECT 1 AS one');
  const whole = binder.shared(`SELECT one FROM (${common})`);
  const both = `SELECT * FROM (${whole}) UNION ALL SELECT * FROM (${whole}) UNION ALL SELECT * FROM (${common})`;
  expect(binder.statement(both).sql).toBe(`WITH shared1 AS (SELECT 1 AS one),
shared0 AS (SELECT one FROM shared1)
SELECT * FROM shared0 UNION ALL SELECT * FROM shared0 UNION ALL SELECT * FROM shared1`);
  expect(binder.statement(`SELECT * FROM (${whole})`).sql).toBe(`SELECT * FROM (${whole})`);
});

test('what a statement asks of rows twice is asked once, of all of them', () => {
  const binder = createBinder();
  const select = `SELECT count() FROM rows WHERE ${ROWS}`;
  const name = binder.scalar(select, 'a = 1 AND b = 2');
  expect(binder.statement(`SELECT ${name}`).sql).toBe(
    `WITH (SELECT count() FROM rows WHERE a = 1 AND b = 2) AS ${name}\nSELECT ${name}`,
  );
  expect(binder.scalar(select, 'a = 3')).toBe(name);
  expect(binder.scalar(select, 'a = 3')).toBe(name);
  expect(binder.statement(`SELECT ${name}`).sql).toBe(
    `WITH (SELECT count() FROM rows WHERE (a = 1 AND b = 2 OR a = 3)) AS ${name}\nSELECT ${name}`,
  );
});
