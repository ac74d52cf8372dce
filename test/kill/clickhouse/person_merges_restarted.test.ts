import { expect, onTestFinished, test } from 'vitest';
import { createWarehouse, insertBlock } from '#infra/clickhouse/client.ts';
import { dropAppliedMerges, mergePersons } from '#infra/clickhouse/merge_persons.ts';
import { migrate } from '#infra/clickhouse/migrate.ts';
import { reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { randomFor } from '#services/local/demo/world/random.ts';
import { useOwnParts } from '#test/harness/own_parts.ts';
import { until } from '#test/harness/until.ts';
import { createPeople, DAY_MS, linkAt, personsNow } from '#test/integration/clickhouse/person_merges_world.ts';

const STEPS = 24;
/** After which steps the server ends in the midst of the merging, and how. */
const ENDS = new Map<number, NodeJS.Signals>([
  [5, 'SIGTERM'],
  [11, 'SIGKILL'],
  [17, 'SIGKILL'],
]);
const parts = useOwnParts('clickhouse');

/** Has the server end while it rewrites rows, and start again. */
async function restartAmid(work: Promise<unknown>, signal: NodeJS.Signals): Promise<void> {
  const { clickhouse } = parts().parts;
  if (clickhouse === undefined) throw new Error('no server was started');
  const ended = work.catch(() => undefined);
  clickhouse.kill(signal);
  await until('the server to have ended', () => clickhouse.pid === undefined);
  await clickhouse.start();
  await ended;
}

test('persons who merge while ClickHouse ends and starts again are known as before', { timeout: 240_000 }, async () => {
  const url = parts().addresses.clickhouseUrl;
  const warehouse = createWarehouse(url);
  onTestFinished(() => warehouse.close());
  await migrate(warehouse, url);
  const database = { warehouse, url, cluster: null };
  const random = randomFor('merges of persons');
  const people = createPeople(random, Date.now() - 70 * DAY_MS);
  for (let step = 0; step < STEPS; step++) {
    const nowMs = people.pass();
    await insertBlock(warehouse, 'event_rows', `e${step}`, [people.event(`${step}-a`), people.event(`${step}-b`)]);
    const links = people.merge();
    if (links.length > 0) await linkAt(database, links, nowMs, `l${step}`);
    await reloadPersons(warehouse);
    const signal = ENDS.get(step);
    if (signal !== undefined) await restartAmid(mergePersons(warehouse), signal);
    expect(await personsNow(database), `step ${step}`).toEqual(people.expected());
  }
  await until('all rows to be written', async () => (await mergePersons(warehouse)).rows === 0);
  await dropAppliedMerges(warehouse);
  await reloadPersons(warehouse);
  expect(await personsNow(database)).toEqual(people.expected());
});
