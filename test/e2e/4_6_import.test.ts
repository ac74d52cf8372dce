import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { runCommand } from '#test/harness/command.ts';
import { newEvent, postEvents } from '#test/harness/ingest.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { untilStored } from '#test/harness/stored_rows.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';

const service = sharedService();
const folder = mkdtempSync(join(tmpdir(), 'import-'));
let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service, { siteWords: ['--country', 'DE'] });
});
afterAll(async () => {
  await site.close();
  rmSync(folder, { recursive: true, force: true });
});

/** `npm run svc -- WORDS` with the site's server key, told only where the data folder is. */
const svc = (...words: string[]) =>
  runCommand('services/cli/main.ts', [...words, '--site', site.site, '--zone', 'Europe/Berlin'], {
    LOCAL_DIR: service.dataDir,
    SVC_SERVER_KEY: site.serverKey,
  });

const HOUR_MS = 3_600_000;
/** As a till writes it, some hours ago. */
const soldAt = (hoursAgo: number): string =>
  new Intl.DateTimeFormat('de-DE', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'Europe/Berlin' })
    .format(Date.now() - hoursAgo * HOUR_MS)
    .replace(',', '');

interface Sale {
  order_id: string;
  value: number;
  currency: string;
  action_source: string;
  persons: number;
}

const sales = (): Promise<Sale[]> =>
  select(
    service.ready.clickhouse,
    `SELECT order_id, value, currency, action_source, toInt32(uniqExact(person_id) OVER ()) AS persons FROM events
     WHERE site_id = {site:String} AND event = 'purchase' ORDER BY order_id, value`,
    { site: site.site },
  );

test('a file of a till is stored once, however often it is imported, and what fails is beside it', async () => {
  // The same customer in a browser.
  const visit = newEvent({ event: 'identify', distinct_id: 'laptop', properties: { email: 'jane@example.com' } });
  expect(await postEvents(service.ready.edge, site.serverKey, [visit])).toMatchObject({ status: 200 });
  const path = join(folder, 'sales.csv');
  const old = '1.2.2019 10:00';
  const rows = [
    'Bon;Datum;Betrag;E-Mail;Telefon;Kasse',
    `1001;${soldAt(5)};1.012,50 €;Jane@Example.com;;1`,
    `1002;${soldAt(4)};7,00 €;;;1`,
    `;${soldAt(3)};2,50 €;;;1`,
    `;${soldAt(3)};2,50 €;;;1`,
    '1003;03/04/2026;2,50 €;;;1',
    `1004;${old};2,50 €;;;1`,
    `1005;${soldAt(2)};9,00 €;;0151 57829304;2`,
    'Summe;;1.033,50 €;;;',
  ];
  writeFileSync(path, `\ufeff${rows.join('\r\n')}\r\n`);
  const first = await svc('import', path);
  expect(first).toMatchObject({
    code: 1,
    output: expect.stringContaining('8 rows: 5 accepted, 0 repeated, 3 with errors'),
  });
  expect(
    readFileSync(join(folder, 'sales.errors.csv'), 'utf8')
      .split('\r\n')
      .map((line) => line.split(';')[1]),
  ).toEqual(['import_error', 'date_ambiguous', 'timestamp_too_old', 'time_missing', undefined]);
  const again = await svc('import', path, '--again');
  expect(again.output).toContain('5 accepted');
  await untilStored(service, site.site, 6);
  const stored = await sales();
  const sale = { currency: 'EUR', action_source: 'physical_store' };
  expect(stored).toMatchObject([
    { ...sale, order_id: '', value: 2.5 },
    { ...sale, order_id: '', value: 2.5 },
    { ...sale, order_id: '1001', value: 1012.5 },
    { ...sale, order_id: '1002', value: 7 },
    { ...sale, order_id: '1005', value: 9 },
  ]);
  // Whoever bought without a name is nobody else.
  expect(stored[0]?.persons).toBe(5);
  const query = `SELECT toInt32(uniqExact(person_id)) AS persons FROM events
    WHERE site_id = {site:String} AND (order_id = '1001' OR distinct_id = 'laptop')`;
  expect(await select(service.ready.clickhouse, query, { site: site.site })).toEqual([{ persons: 1 }]);
});

test('files that come into a folder are taken to the end, each to its place', async () => {
  const inbox = mkdtempSync(join(folder, 'inbox-'));
  writeFileSync(join(inbox, 'monday.csv'), `Bon;Datum;Betrag\n2001;${soldAt(2)};5\n`);
  writeFileSync(join(inbox, 'tuesday.csv'), 'no;header;of;a;till\n');
  const { code, output } = await svc('import', 'watch', inbox, '--once', '--every', '0');
  expect([code, output]).toEqual([1, expect.stringContaining('1 files imported, 1 failed')]);
  const names = (name: string): string[] => readdirSync(join(inbox, name)).sort();
  expect([names('done'), names('failed')]).toEqual([['monday.csv'], ['tuesday.csv', 'tuesday.csv.reason.txt']]);
  await untilStored(service, site.site, 7);
  expect(await sales()).toContainEqual(expect.objectContaining({ order_id: '2001', value: 5 }));
});

test('the key of another site is refused, and no event goes anywhere', async () => {
  const other = await makeSite(service);
  const path = join(folder, 'other.csv');
  writeFileSync(path, `Bon;Datum\n3001;${soldAt(1)}\n`);
  const words = ['import', path, '--site', other.site, '--zone', 'UTC'];
  const { code, output } = await runCommand('services/cli/main.ts', words, {
    LOCAL_DIR: service.dataDir,
    SVC_SERVER_KEY: site.serverKey,
  });
  expect([code, output]).toEqual([
    2,
    `svc: key_of_other_site: the key is one of site ${site.site}, not of ${other.site}\n`,
  ]);
  await other.close();
});
