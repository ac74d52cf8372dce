import { expect, onTestFinished, test } from 'vitest';
import { createWarehouse } from '#infra/clickhouse/client.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { QUERY_LIMITS, querySettings } from '#infra/clickhouse/queries/select_rows.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import {
  type DocumentedQuestion,
  documentedQuestions,
  questionsByPageRules,
} from '#test/harness/documented_questions.ts';
import { useOwnParts } from '#test/harness/own_parts.ts';
import { cpuOf } from '../bench/cpu.ts';

const parts = useOwnParts('clickhouse');
/** Times that each question is analysed: processor time is counted in hundredths of a second. */
const ROUNDS = 10;
const TIMEOUT_MS = 900_000;
/** Of a machine that analyses the yardstick in its time; another, or one that is busy with more, is measured by that. */
const MS_MAX = 60;
/** What is more than one question: pages by as many rules as there may be; and what goes with conditions, where much is made of the rows. */
const MS_MAX_OF_SEVERAL = 90;
const SEVERAL = /two fields|^paths|another (value|way)|^(trends|revenue), by|^funnel, by the/;

/**
 * SELECTs in each other, as questions are, that never change; and what they take on the machine that the limits are of. A busy one takes
 * up to half as much again for what has not changed.
 */
const YARDSTICK = Array.from({ length: 12 }).reduce<string>(
  (inner) => `SELECT of, total AS n, arrayMap(x -> x + 1, all) AS list
FROM (SELECT of, sum(n) AS total, groupArray(n) AS all FROM (${inner}) GROUP BY of)`,
  'SELECT number AS of, number AS n FROM numbers(9)',
);
const YARDSTICK_MS = 8;
/** The mean of so many before and after counts: one alone is told in eight steps of the clock of CPU time. */
const BESIDE = 6;

const mostOf = ({ name, filtered }: DocumentedQuestion): number =>
  /by rules/.test(name) || (filtered !== 'none' && SEVERAL.test(name)) ? MS_MAX_OF_SEVERAL : MS_MAX;

test('on an empty database any question is analysed in no more processor time than a user notices', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { addresses, parts: running } = parts();
  const warehouse = createWarehouse(addresses.clickhouseUrl);
  onTestFinished(() => warehouse.close());
  await migrate(warehouse, addresses.clickhouseUrl);
  const analyse = async ({ sql, parameters }: Statement): Promise<void> => {
    const explained = await warehouse.query({
      query: `EXPLAIN QUERY TREE ${sql}`,
      query_params: parameters,
      format: 'TabSeparated',
      clickhouse_settings: querySettings(QUERY_LIMITS),
    });
    await explained.text();
  };
  const pid = running.clickhouse?.pid ?? 0;
  const msOf = async (statement: Statement): Promise<number> => {
    await analyse(statement);
    const before = cpuOf(pid);
    for (let round = 0; round < ROUNDS; round++) await analyse(statement);
    return ((cpuOf(pid) - before) * 1_000) / ROUNDS;
  };
  const yardstick = { sql: YARDSTICK, parameters: {} };
  const measured: { question: DocumentedQuestion; ms: number; yardstickMs: number }[] = [];
  for (const question of [
    ...questionsByPageRules(),
    ...documentedQuestions('none', 'property', 'person', 'a cohort'),
  ]) {
    measured.push({ question, ms: await msOf(question.statement), yardstickMs: await msOf(yardstick) });
  }
  const slow = measured.flatMap(({ question, ms }, index) => {
    const beside = measured.slice(Math.max(0, index - BESIDE), index + BESIDE + 1);
    const yardstickMs = beside.reduce((sum, one) => sum + one.yardstickMs, 0) / beside.length;
    const scaled = Math.round((ms * YARDSTICK_MS) / yardstickMs);
    const line = `${scaled} ms (here ${Math.round(ms)}; the yardstick ${yardstickMs.toFixed(1)}), ${question.statement.sql.length} bytes: ${question.name}`;
    process.stdout.write(`${line}\n`);
    return scaled > mostOf(question) ? [line] : [];
  });
  expect(slow).toEqual([]);
});
