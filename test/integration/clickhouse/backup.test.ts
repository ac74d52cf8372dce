import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { backUpWarehouse, restoreWarehouse, tablesThere } from '#infra/clickhouse/backup.ts';
import { createWarehouse, insertBlock } from '#infra/clickhouse/client.ts';
import { createRestoredPersons } from '#infra/clickhouse/erasure/restored_persons.ts';
import { migrate, renewDictionaries } from '#infra/clickhouse/migrate.ts';
import { erasedAnew, finished, isToBeFound, newErasure, newSiteErasure } from '#pipelines/erasure/erasure.ts';
import { nodeOf } from '#pipelines/identity/identity.ts';
import { noIdentifiers } from '#pipelines/privacy/hash_identifiers.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { rowsOf, useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();
const { site_id: SITE } = sampleEvent();
const SECRET = Buffer.alloc(32, 7);
const P = (letter: string): string => `p_${letter.repeat(32)}`;
const ignored = (): void => undefined;

interface Seen {
  person: string;
  site?: string;
  email?: string;
}

function rowsOfPersons(seen: readonly Seen[]) {
  return seen.map(({ person, site = SITE, email = null }, index) =>
    eventRow({
      coordinate: { partition: 0, offset: 1, index },
      person: { person_id: person, identifiers: null },
      event: sampleEvent({
        ...{ site_id: site, event_id: `e-${index}`, identify: true },
        identifiers: email === null ? null : { ...noIdentifiers(), email },
      }),
    }),
  );
}

test('rows come back as they were, queries with them, and no password is in the backup', {
  timeout: 120_000,
}, async () => {
  const { warehouse, url, cluster } = await create();
  await migrate(warehouse, url, cluster);
  await renewDictionaries(warehouse, url, cluster);
  await insertBlock(warehouse, 'event_rows', 'one', rowsOfPersons([{ person: P('a') }, { person: P('b') }]));
  const link = { site_id: SITE, person_id: P('b'), target: P('a'), first_seen: 1, version: 1 };
  await insertBlock(warehouse, 'person_links', 'two', [link]);
  const place = `File('${uniqueName('backup')}')`;
  const bytes: number[] = [];
  const reports = await backUpWarehouse({ url, cluster, place, onProgress: (so) => bytes.push(so) });
  expect(reports.map((one) => one.place)).toEqual(warehouse.servers.map(() => place));
  expect(bytes.at(-1)).toBe(reports.reduce((sum, one) => sum + one.bytes, 0));
  // There are tables: nothing is restored over them.
  await expect(restoreWarehouse({ url, cluster, place, onProgress: ignored })).rejects.toMatchObject({
    code: 'clickhouse_backup_failed',
  });
  const database = new URL(url.replace(/,[^/]*/, '')).pathname.slice(1);
  const root = createWarehouse(url.replace(database, 'default'));
  onTestFinished(() => root.close());
  for (const server of root.servers) {
    await server.command({ query: `DROP DATABASE ${database} SYNC` });
    await server.command({ query: `CREATE DATABASE ${database}` });
  }
  expect(await tablesThere(url)).toEqual([]);
  await restoreWarehouse({ url, cluster, place, onProgress: ignored });
  const dictionaries = `SELECT name FROM system.tables WHERE database = '${database}' AND engine = 'Dictionary'`;
  expect(await rowsOf({ warehouse }, dictionaries)).toEqual([]);
  expect((await migrate(warehouse, url, cluster)).applied).toEqual([]);
  expect(await renewDictionaries(warehouse, url, cluster)).toHaveLength(2);
  const persons = await rowsOf<{ person: string; events: number }>(
    { warehouse },
    'SELECT person_id AS person, toUInt32(count()) AS events FROM events GROUP BY person',
  );
  expect(persons).toEqual([{ person: P('a'), events: 2 }]);
});

test('what is no place, or one that the server refuses, is said without the keys of a bucket', async () => {
  const { url, cluster, warehouse } = await create();
  const backUp = (place: string) => backUpWarehouse({ url, cluster, place, onProgress: ignored });
  for (const place of ["File('a'); DROP TABLE x", "URL('http://x')", 'monday', '']) {
    await expect(backUp(place)).rejects.toMatchObject({ code: 'clickhouse_place_invalid' });
  }
  const secret = randomBytes(16).toString('hex');
  const refused: unknown = await backUp(`S3('http://127.0.0.1:1/bucket/{shard}', 'key', '${secret}', 'x', 'y')`).catch(
    (error: unknown) => error,
  );
  expect(refused).toMatchObject({ code: 'clickhouse_backup_failed' });
  expect(String(refused)).not.toContain(secret);
  expect(String(refused)).not.toContain('Stack trace');
  for (const place of [
    // A comma or a quote that was forgotten, and a password in an address.
    `S3('http://127.0.0.1:1/{shard}' 'KEYNAME', '${secret}')`,
    `S3('http://127.0.0.1:1/{shard}', 'KEYNAME', '${secret})`,
    `S3('http://127.0.0.1:1/{shard}', KEYNAME', '${secret}')`,
    `S3('http://user:${secret}@nohost.invalid/{shard}')`,
    `S3(nothing, url = 'http://127.0.0.1:1/{shard}', secret_access_key='${secret}')`,
  ]) {
    const error: unknown = await backUp(place).catch((one: unknown) => one);
    expect(error).toMatchObject({ code: 'clickhouse_backup_failed' });
    expect(String(error)).not.toContain(secret);
  }
  if (warehouse.servers.length > 1) {
    await expect(backUp("S3('http://127.0.0.1:1/bucket')")).rejects.toMatchObject({ code: 'clickhouse_place_invalid' });
  }
});

test('who was erased is found again in rows of before by what is kept of the erasure, and nobody else is', async () => {
  const { warehouse, cluster } = await create.migrated();
  const email = 'e'.repeat(64);
  const rows = rowsOfPersons([
    { person: P('a') },
    { person: P('b'), email },
    { person: P('c'), email: 'f'.repeat(64) },
    { person: P('a'), site: 'elsewhere' },
  ]);
  await insertBlock(warehouse, 'event_rows', 'one', rows);
  const link = { site_id: SITE, person_id: P('d'), target: P('a'), first_seen: 1, version: 1 };
  await insertBlock(warehouse, 'person_links', 'two', [link]);
  const subject = {
    persons: [P('a'), P('d'), P('z')],
    identifiers: [{ kind: 'email' as const, value: email, node: nodeOf(SECRET, SITE, 'email', email) }],
  };
  const asked = { erasure_id: 'one', site_id: SITE, asked_by: 'test', destinations: [], sealed: 'x' };
  const done = finished(newErasure(asked, SECRET, subject, 1_000), 2_000);
  const nobody = {
    ...newErasure({ ...asked, erasure_id: 'two' }, SECRET, { persons: [P('y')], identifiers: [] }, 1_000),
  };
  expect(erasedAnew(done, 2_001, 3_000)).toBeNull();
  const anew = erasedAnew(done, 2_000, 3_000);
  if (anew === null) throw new Error('it is to be carried out once more');
  expect(isToBeFound(anew)).toBe(true);
  expect(anew).toMatchObject({ done_at: null, persons: done.persons, asked_at: 1_000, is_again: true });
  const found = await createRestoredPersons(warehouse, cluster, SECRET).find(SITE, [anew, nobody]);
  expect([...found.keys()]).toEqual(['one']);
  expect(found.get('one')?.persons.toSorted()).toEqual([P('a'), P('d')]);
  expect(found.get('one')?.identifiers).toEqual(subject.identifiers);
  // A site is found by its name.
  const site = newSiteErasure(
    { erasure_id: 'three', site_id: SITE, asked_by: 'test', destinations: [], account_id: 'a' },
    1_000,
  );
  expect(erasedAnew({ ...site, phase: 'done', done_at: 5_000 }, 1, 6_000)).toMatchObject({
    phase: 'suppressing',
    detail: '',
  });
  expect(erasedAnew({ ...done, persons: [], identifiers: [] }, 1, 6_000)).toBeNull();
});
