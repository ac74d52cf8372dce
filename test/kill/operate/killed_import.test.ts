import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { select } from '#test/harness/clickhouse.ts';
import { type Command, startCommand } from '#test/harness/command.ts';
import { testSeed } from '#test/harness/environment.ts';
import { chanceOf } from '#test/harness/hostile/random.ts';
import { sharedService } from '#test/harness/shared_service.ts';
import { makeSite, type TestSite } from '#test/harness/test_site.ts';
import { until } from '#test/harness/until.ts';

/** `IMPORT_ROWS=1000000` for a file as large as an importer must bear. */
const ROWS = Number(process.env['IMPORT_ROWS'] ?? 20_000);
const BAD_ROWS = 1_000;
const KILLS = 3;
/** Of the process that imports, whatever the size of its file: V8 leaves itself room that grows with the rate. */
const MEMORY_MIB_MAX = 512;
const IMPORT_MS = 4 * 3_600_000;

const service = sharedService();
const folder = mkdtempSync(join(tmpdir(), 'import-'));
const path = join(folder, 'sales.csv');
let site: TestSite;
beforeAll(async () => {
  site = await makeSite(service, { allowance: 20 * ROWS, siteWords: ['--country', 'DE'] });
});
afterAll(async () => {
  await site.close();
  rmSync(folder, { recursive: true, force: true });
});

const DAY_MS = 86_400_000;
const dayOf = (daysAgo: number): string =>
  new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10).split('-').reverse().join('.');
const YESTERDAY = dayOf(1);

/** A row that fails, and the code that it fails with. */
const BAD: readonly [code: string, row: (id: string) => string][] = [
  ['date_ambiguous', (id) => `${id};03/04/2026;09:00:00;5,00;;Köln`],
  ['number_ambiguous', (id) => `${id};${YESTERDAY};09:00:00;1.234;;Köln`],
  ['fields_count', (id) => `${id};${YESTERDAY}`],
  ['quote_unclosed', (id) => `${id};${YESTERDAY};09:00:00;5,00;;"Köln`],
  ['id_rounded', () => `1,00E+12;${YESTERDAY};09:00:00;5,00;;Köln`],
  ['time_unreadable', (id) => `${id};gestern;09:00:00;5,00;;Köln`],
  ['timestamp_too_old', (id) => `${id};01.02.2019;09:00:00;5,00;;Köln`],
  ['value_negative', (id) => `${id};${YESTERDAY};09:00:00;-5,00;;Köln`],
];

/** Writes the file; every tenth sale has no number, and some of these are equal. Tells which lines fail, and why. */
async function writeFile(random: () => number): Promise<Map<number, string>> {
  const bad = new Map<number, string>();
  while (bad.size < BAD_ROWS) bad.set(2 + Math.floor(random() * ROWS), '');
  const file = createWriteStream(path);
  file.write('\ufeffBon;Datum;Uhrzeit;Betrag;E-Mail;Ort\r\n');
  let planted = 0;
  for (let line = 2; line < ROWS + 2; line++) {
    const [code, badRow] = BAD[planted % BAD.length] ?? ['', () => ''];
    if (bad.has(line)) {
      planted++;
      bad.set(line, code);
    }
    const id = line % 10 === 0 ? '' : `B-${line}`;
    const cents = String(line % 97).padStart(2, '0');
    const mail = line % 3 === 0 ? `customer-${line % 5_000}@example.com` : '';
    const sound = `${id};${YESTERDAY};${String(line % 24).padStart(2, '0')}:00:00;${line % 1_000},${cents};${mail};Köln`;
    file.write(`${bad.has(line) ? badRow(id) : sound}\r\n`);
    if (file.writableNeedDrain) await setImmediate();
  }
  await new Promise((done) => file.end(done));
  return bad;
}

const startImport = (): Command =>
  startCommand('services/cli/main.ts', ['import', path, '--site', site.site, '--zone', 'Europe/Berlin'], {
    LOCAL_DIR: service.dataDir,
    SVC_SERVER_KEY: site.serverKey,
  });

function rowsDone(): number {
  try {
    return (JSON.parse(readFileSync(`${path}.progress.json`, 'utf8')) as { counts: { rows: number } }).counts.rows;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
    throw error;
  }
}

/** The most memory that a process had, in MiB, as the kernel counts it; 0 once it is gone. */
function peakMiB(pid: number): number {
  try {
    return Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return 0;
    throw error;
  }
}

interface Stored {
  rows: number;
  ids: number;
  orders: number;
}

async function stored(): Promise<Stored> {
  const query = `SELECT toInt32(count()) AS rows, toInt32(uniqExact(event_id)) AS ids,
      toInt32(uniqExactIf(order_id, order_id != '')) AS orders FROM event_rows WHERE site_id = {site:String}`;
  const [row] = await select<Stored>(service.ready.clickhouse, query, { site: site.site });
  return row ?? { rows: 0, ids: 0, orders: 0 };
}

test('a large file that is killed again and again is stored once, and its errors name the rows that fail and no other', {
  timeout: IMPORT_MS,
}, async () => {
  const random = chanceOf(testSeed()).next;
  const bad = await writeFile(random);
  const ends = Array.from({ length: KILLS }, () => Math.floor(random() * ROWS * 0.9)).sort((a, b) => a - b);
  let peak = 0;
  for (const end of [...ends, Number.POSITIVE_INFINITY]) {
    const { child, ended, output } = startImport();
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    await until(
      `${end} rows`,
      () => {
        peak = Math.max(peak, peakMiB(child.pid ?? 0));
        return isOver || rowsDone() >= end;
      },
      Boolean,
      { timeoutMs: IMPORT_MS, everyMs: 100 },
    );
    child.kill('SIGKILL');
    const { code } = await ended;
    expect([code, output()]).toEqual([end === Number.POSITIVE_INFINITY ? 1 : null, expect.any(String)]);
  }
  const good = ROWS - BAD_ROWS;
  const orders = Array.from({ length: ROWS }, (_, row) => row + 2).filter(
    (line) => line % 10 !== 0 && !bad.has(line),
  ).length;
  const seen = await until('all rows', stored, ({ rows }) => rows >= good, { timeoutMs: IMPORT_MS, everyMs: 1_000 });
  expect(seen).toEqual({ rows: good, ids: good, orders });
  const lines = readFileSync(join(folder, 'sales.errors.csv'), 'utf8').split('\r\n').slice(1, -1);
  const named = new Map(
    lines.map((line) => [Number(line.split(';')[0]), line.split(';')[1]?.replace('quote_misplaced', 'quote_unclosed')]),
  );
  expect(named).toEqual(bad);
  expect(lines).toHaveLength(BAD_ROWS);
  process.stderr.write(`${ROWS} rows, killed at ${ends.join(', ')}: at most ${Math.round(peak)} MiB\n`);
  expect(peak).toBeLessThan(MEMORY_MIB_MAX);
});
