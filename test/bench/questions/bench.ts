import { setTimeout as sleep } from 'node:timers/promises';
import type { Warehouse } from '#infra/clickhouse/client.ts';
import { checkDuplicates } from '#infra/clickhouse/inserts/duplicate_check.ts';
import { reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { QUERY_LIMITS, querySettings } from '#infra/clickhouse/queries/select_rows.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import { say } from '../results.ts';
import { one, partsOf, withWarehouse } from '../warehouse_alone.ts';
import { fill, SITE } from './fill.ts';
import { measureNeighbour } from './neighbour.ts';
import { type BenchQuestion, questionsAbout, scanOf } from './questions.ts';
import { DAYS, EVENTS, FOLDER, ONLY } from './questions_config.ts';

const ROUNDS = 5;
const MIB = 1024 ** 2;
const GOAL_SECONDS = 2;
const GOAL_MIB = 1024;
const GOAL_RATIO = 5;

/**
 * Every kind of question about the last days of a year of one site's events, each beside the plain scan of the columns that
 * it needs, as SQL by ids would read them, and once more by the digests that rows have of ids; then what a heavy one does to
 * a neighbour's. Times and memory are the server's.
 */
export async function benchQuestions(): Promise<void> {
  const about = async (warehouse: Warehouse): Promise<void> => {
    if ((await countOf(warehouse)) === 0) await fill(warehouse, say);
    await reloadPersons(warehouse);
    await settle(warehouse);
    await measure(warehouse);
    if (ONLY === null) await measureNeighbour(warehouse, say);
  };
  await withWarehouse('questions', ({ warehouse }) => about(warehouse), FOLDER);
}

/** Waits for the merges of what was inserted, then has rows looked at for repeats, as the warehouse does all the time. */
async function settle(warehouse: Warehouse): Promise<void> {
  while ((await one<{ merges: number }>(warehouse, 'SELECT count() AS merges FROM system.merges'))?.merges !== 0) {
    await sleep(1_000);
  }
  const begun = performance.now();
  const { rows } = await checkDuplicates(warehouse);
  if (rows > 0) say(`${rows} rows looked at for repeats in ${((performance.now() - begun) / 1_000).toFixed(1)} s`);
}

async function measure(warehouse: Warehouse): Promise<void> {
  say(
    `${EVENTS} events of a year in ${await partsOf(warehouse)} parts; the last ${DAYS} days; ${ROUNDS} rounds, medians`,
  );
  say(
    `${''.padEnd(44)}${['s', 'scan s', 'ratio', 'by digests', 'MiB', 'rows read'].map((head) => head.padStart(11)).join('')}`,
  );
  const asked = questionsAbout(await someVisitor(warehouse)).filter(({ name }) => ONLY === null || name.match(ONLY));
  for (const question of asked) say(await lineOf(warehouse, question));
}

async function lineOf(warehouse: Warehouse, { name, statement, needs }: BenchQuestion): Promise<string> {
  const scans = [false, true].map((byDigests) => ({ sql: scanOf(needs, byDigests), parameters: {} }));
  const runs: Run[][] = [];
  // By turns, so that a machine that is busy for a moment is so for all.
  for (let round = -1; round < ROUNDS; round++) {
    const asked: Run[] = [];
    for (const one of [statement, ...scans]) asked.push(await run(warehouse, one));
    if (round >= 0) runs.push(asked);
  }
  const [seconds, scanSeconds, digestSeconds] = [medianOf(runs, 0), medianOf(runs, 1), medianOf(runs, 2)];
  const ratio = seconds / scanSeconds;
  const mib = Math.max(...runs.map(([asked]) => asked?.bytes ?? Number.NaN)) / MIB;
  const over = [
    ...(seconds > GOAL_SECONDS ? [`over ${GOAL_SECONDS} s`] : []),
    ...(ratio > GOAL_RATIO ? [`over ${GOAL_RATIO} scans`] : []),
    ...(mib > GOAL_MIB ? ['over 1 GiB'] : []),
  ];
  const figures = [
    seconds.toFixed(3),
    scanSeconds.toFixed(3),
    ratio.toFixed(1),
    (seconds / digestSeconds).toFixed(1),
    mib.toFixed(0),
    String(runs[0]?.[0]?.rows),
  ];
  return `${name.padEnd(44)}${figures.map((figure) => figure.padStart(11)).join('')}  ${over.join(', ')}`;
}

interface Run {
  seconds: number;
  bytes: number;
  rows: number;
}

async function run(warehouse: Warehouse, { sql, parameters }: Statement): Promise<Run> {
  const result = await warehouse.query({
    query: sql,
    query_params: parameters,
    format: 'JSON',
    clickhouse_settings: querySettings({ ...QUERY_LIMITS, seconds: 300 }),
  });
  const summary = JSON.parse(String(result.response_headers['x-clickhouse-summary'])) as { memory_usage: string };
  const { statistics } = await result.json<object>();
  const { elapsed = Number.NaN, rows_read: rows = Number.NaN } = statistics ?? {};
  return { seconds: elapsed, bytes: Number(summary.memory_usage), rows };
}

function medianOf(rounds: readonly Run[][], at: number): number {
  const seconds = rounds.map((runs) => runs[at]?.seconds ?? Number.NaN).sort((a, b) => a - b);
  return seconds[Math.floor(seconds.length / 2)] ?? Number.NaN;
}

const countOf = async (warehouse: Warehouse): Promise<number> =>
  (await one<{ events: number }>(warehouse, 'SELECT count() AS events FROM event_rows'))?.events ?? 0;

/** Somebody with a few sessions. */
async function someVisitor(warehouse: Warehouse): Promise<string> {
  const query = `SELECT distinct_id AS id FROM event_rows WHERE site_id = '${SITE}' AND timestamp > now() - INTERVAL 20 YEAR
    GROUP BY id HAVING count() BETWEEN 30 AND 60 ORDER BY id LIMIT 1`;
  return (await one<{ id: string }>(warehouse, query))?.id ?? '';
}
