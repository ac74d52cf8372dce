import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { SendError } from '#services/cli/import/edge_client.ts';
import { type ImportPlan, importFile, previewFile } from '#services/cli/import/import_file.ts';
import { type Mapping, resolveMapping, type WantedMapping } from '#services/cli/import/mapping.ts';
import { fileVersion, readForm, type WantedForm } from '#services/cli/import/read_rows.ts';
import type { OutgoingEvent } from '#services/cli/import/row_event.ts';
import { checkAll } from '#test/harness/check_all.ts';

const NOW_MS = Date.UTC(2026, 10, 27, 12);
const folder = mkdtempSync(join(tmpdir(), 'import-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const FORM: WantedForm = { format: null, encoding: 'utf-8', separator: null, columns: null, clickhouse: null };
const WANTED: WantedMapping = {
  columns: {},
  constants: { $action_source: 'physical_store' },
  values: {},
  id: null,
  zone: 'Europe/Berlin',
  dates: 'auto',
  decimal: 'auto',
  negative: 'error',
};

interface Given {
  form?: Partial<WantedForm>;
  wanted?: Partial<WantedMapping>;
  isAgain?: boolean;
  clickhouse?: string | null;
}

let files = 0;

/** A file with this content. */
function written(content: string | Buffer, kind = 'csv'): string {
  const path = join(folder, `sales-${++files}.${kind}`);
  writeFileSync(path, content);
  return path;
}

async function planOf(
  path: string,
  { form: said, wanted, isAgain = false, clickhouse = null }: Given = {},
): Promise<ImportPlan & { mapping: Mapping }> {
  const version = await fileVersion(path);
  const form = await readForm(path, { ...FORM, ...said });
  const mapping = resolveMapping({ ...WANTED, zone: form.zone ?? WANTED.zone, ...wanted }, form.columns, true);
  return { path, version, site: 'shop', form, clickhouse, mapping, folder, isAgain };
}

/** What an edge got; it answers as the function says, by default that it took everything. */
function edge(answerTo: (events: OutgoingEvent[], request: number) => object = ({ length }) => ({ accepted: length })) {
  const got: OutgoingEvent[] = [];
  const sizes: number[] = [];
  const said: string[] = [];
  return {
    got,
    sizes,
    said,
    ports: {
      nowMs: () => NOW_MS,
      say: (line: string) => void said.push(line),
      sleep: async () => undefined,
      onWait: () => undefined,
      attemptsMax: 1,
      async post(body: string) {
        const { events } = JSON.parse(body) as { events: OutgoingEvent[] };
        const answer = answerTo(events, sizes.push(events.length));
        got.push(...events);
        return { status: 200, retryAfter: null, body: JSON.stringify(answer) };
      },
    },
  };
}

async function imported(path: string, given: Given = {}, to = edge()) {
  const { counts, errorsPath, finishedAt } = await importFile(await planOf(path, given), to.ports);
  const errors = errorsPath === null ? '' : readFileSync(errorsPath, 'latin1');
  return { ...to, counts, errors, errorsPath, finishedAt };
}

const linesOf = (text: string): string[] => text.split(/\r?\n/).filter((line) => line !== '');

test('files of spreadsheets and tills are read as what they are', () =>
  checkAll<[string, string | Buffer, Given, object[], string?]>(
    [
      [
        'a mark, semicolons',
        '\ufeffBon;Datum;Betrag\r\n1;27.11.2026 09:00;12,50\r\n',
        {},
        [{ order_id: '1', value: 12.5 }],
      ],
      ['tabs', 'Bon\tDatum\tBetrag\n1\t27.11.2026\t1.5\n', {}, [{ order_id: '1', value: 1.5 }]],
      ['a separator line', 'sep=|\nBon|Datum\n1|27.11.2026\n', {}, [{ order_id: '1' }]],
      [
        'Windows-1252',
        Buffer.from('Bon;Datum;Ort;Währung\n1;27.11.2026;Köln;EUR\n', 'latin1'),
        { form: { encoding: 'windows-1252' } },
        [{ city: 'Köln', currency: 'EUR' }],
      ],
      [
        "Google's template",
        'Parameters:TimeZone=America/New_York\nOrder ID,Conversion Time\n1,2026-11-27 05:00:00\n',
        {},
        [{ order_id: '1' }],
      ],
      ['no header', '1;27.11.2026\n', { form: { columns: ['Bon', 'Datum'], separator: ';' } }, [{ order_id: '1' }]],
      [
        'columns of nothing, and rows',
        'Bon;Datum;;\n1;27.11.2026;;\n;;;\n\n2;27.11.2026\n',
        {},
        [{ order_id: '1' }, { order_id: '2' }],
      ],
      ['a field of lines', 'Bon;Datum;Ort\n1;27.11.2026;"Bad\nEms"\n', {}, [{ city: 'Bad\nEms' }]],
      [
        'JSON',
        '{"order_id":7,"time":"2026-11-27T08:00Z","value":1.5,"gift":true,"x":{"y":1}}\n\n',
        { wanted: { columns: { gift: 'gift', y: 'x.y' } } },
        [{ order_id: '7', value: 1.5, gift: true, y: 1 }],
        'ndjson',
      ],
    ],
    async ([, content, given, properties, kind]) => {
      const { got, counts } = await imported(written(content, kind), given);
      expect(got).toMatchObject(properties.map((one) => ({ properties: one })));
      expect(counts).toMatchObject({ rows: properties.length, accepted: properties.length, failed: {} });
    },
  ));

test('a form that cannot be told is refused by a code', () =>
  checkAll<[string | Buffer, string, string?]>(
    [
      [Buffer.from('\ufeffBon;Datum', 'utf16le'), 'encoding_unsupported'],
      [Buffer.from('Bon;Währung\n', 'latin1'), 'encoding_invalid'],
      ['', 'header_missing'],
      ['a;b,c\n', 'separator_ambiguous'],
      ['PK', 'format_unknown', 'xlsx'],
      ['PK\u0003\u0004', 'format_unknown'],
      [Buffer.from([0x1f, 0x8b, 8]), 'format_unknown', 'csv.gz'],
      ['PAR1', 'file_unreadable', 'parquet'],
    ],
    async ([content, code, kind]) => {
      await expect(planOf(written(content, kind))).rejects.toMatchObject({ code });
    },
  ));

test('a line of any length is one row that fails, and the next is the next', async () => {
  const long = 'x'.repeat(3 * 1024 * 1024);
  const last = '{"order_id":3,"time":"2026-11-27T08:00Z"}';
  const files = {
    csv: ['Bon;Datum', `1;${long};2`, `2;"${long};1;27.11.2026`, '3;27.11.2026'],
    ndjson: [last, `{"order_id":1,"x":"${long}"}`, `{"order_id":2,"x":"${long}`, last],
  };
  for (const [kind, lines] of Object.entries(files)) {
    for (const lineBreak of ['\n', '\r\n']) {
      const { counts, errors, got } = await imported(written(lines.join(lineBreak), kind));
      expect(counts).toMatchObject({ rows: lines.length - Number(kind === 'csv'), accepted: 1 });
      expect(Object.values(counts.failed).reduce((sum, count) => sum + count, 0)).toBe(2);
      expect(got).toMatchObject([{ properties: { order_id: '3' } }]);
      expect(errors.length).toBeLessThan(2 * 1024 * 1024);
    }
  }
});

test('a column of JSON is one though its first rows say nothing', async () => {
  const row = (id: number, rest = '') => `{"order_id":${id},"time":"2026-11-27T08:00Z"${rest}}\n`;
  const rows = Array.from({ length: 200 }, (_, id) => row(id, ',"email":null')).join('');
  const { got } = await imported(written(`${rows}${row(201, ',"value":2')}`, 'ndjson'));
  expect(got.at(-1)).toMatchObject({ properties: { order_id: '201', value: 2 } });
  expect((await planOf(written(rows, 'ndjson'))).mapping.fields).toContainEqual(
    expect.objectContaining({ field: 'email' }),
  );
});

test('a file that is another when it was read is not done', async () => {
  const path = written('Bon;Datum\n1;27.11.2026\n');
  const writing = edge(({ length }) => {
    writeFileSync(path, 'Datum;Bon\n27.11.2026;1\n27.11.2026;2\n');
    return { accepted: length };
  });
  await expect(imported(path, {}, writing)).rejects.toMatchObject({ code: 'file_changed' });
  const { counts, got } = await imported(path);
  expect(counts).toMatchObject({ rows: 2, accepted: 2, failed: {} });
  expect(got[0]?.uuid).toBe(writing.got[0]?.uuid);
});

test('rows that fail are in a file beside, as they were, with line and code; the others are sent', async () => {
  const content = [
    'Bon;Datum;Betrag;Ort',
    '1;27.11.2026;5;Köln',
    '2;03/04/2026;5;Köln',
    '3;27.11.2026;1.234;Köln',
    '4;27.11.2026;5;"Köln',
    '5;27.11.2026',
    '6;27.11.2026;5;refused',
    '1;27.11.2026;5;Köln',
    '1;27.11.2026;6;Köln',
    '7;27.11.2026;5;Köln',
  ].join('\r\n');
  const refuses = edge((events) => {
    const rejected = events.flatMap(({ properties }, index) =>
      properties['city'] === 'refused' ? [{ index, code: 'timestamp_too_old', message: 'Too old.' }] : [],
    );
    return { accepted: events.length - rejected.length, rejected };
  });
  const { counts, errors, errorsPath, got } = await imported(
    written(Buffer.from(content, 'latin1')),
    {
      form: { encoding: 'windows-1252' },
    },
    refuses,
  );
  expect(got.map(({ properties }) => properties['order_id'])).toEqual(['1', '6', '7']);
  expect(counts).toMatchObject({ rows: 9, accepted: 2, repeated: 1, filtered: 0 });
  expect(linesOf(errors).map((line) => line.split(';').slice(0, 2).join(' '))).toEqual([
    'import_line import_error',
    '3 date_ambiguous',
    '4 number_ambiguous',
    '5 quote_unclosed',
    '6 fields_count',
    '7 timestamp_too_old',
    '9 order_repeated',
  ]);
  expect(linesOf(errors)[1]).toMatch(/;2;03\/04\/2026;5;Köln$/);

  // Corrected, it is a file like any other.
  const corrected = errors.replace('03/04/2026', '03.04.2026').split('\r\n').slice(0, 2).join('\r\n');
  writeFileSync(errorsPath ?? '', Buffer.from(corrected, 'latin1'));
  const second = await imported(errorsPath ?? '', { form: { encoding: 'windows-1252' } });
  expect(second.got).toMatchObject([{ properties: { order_id: '2', city: 'Köln' } }]);
  expect(second.counts.failed).toEqual({});
});

test('rows of JSON that fail keep what they held', async () => {
  const content = '{"order_id":"1","time":"2026-11-27T08:00Z"}\n{"order_id":"2"}\nnot JSON\n{}\n';
  const { errors, counts } = await imported(written(content, 'ndjson'));
  expect(counts.failed).toEqual({ time_missing: 2, row_unreadable: 1 });
  expect(linesOf(errors).map((line) => JSON.parse(line) as object)).toMatchObject([
    { import_line: 2, import_error: 'time_missing', order_id: '2' },
    { import_line: 3, import_row: 'not JSON' },
    { import_line: 4, import_error: 'time_missing' },
  ]);
});

test('Parquet is read by ClickHouse: embedded, or the program that is named', async () => {
  const path = join(folder, 'till.parquet');
  // Written by pyarrow: groups of two rows, times with and without a zone, an index column of pandas.
  copyFileSync(fileURLToPath(new URL('./fixtures/sales.parquet', import.meta.url)), path);
  const embedded = fileURLToPath(new URL('../../../services/cli/import/embedded_clickhouse.ts', import.meta.url));
  const program = join(folder, 'clickhouse');
  writeFileSync(program, `#!/bin/sh\ntest "$1" = local && exec '${process.execPath}' '${embedded}' "$@"\n`, {
    mode: 0o700,
  });
  const columns = { time: 'Datum', plz: 'kunde.plz', seen: 'seen', clock: 'Uhrzeit' };
  const { got, counts, errorsPath, errors } = await imported(path, { wanted: { columns }, clickhouse: program });
  const at = { timestamp: '2026-11-26T09:00:00.500Z' };
  const shared = { plz: '01067', seen: '2026-11-26T10:00:00.500Z', clock: '10:30:00.000000' };
  expect(got).toMatchObject([
    { ...at, properties: { ...shared, order_id: '1', value: 1.5, email: 'jane@example.com' } },
    { ...at, properties: { ...shared, order_id: '2', value: 1.234 } },
    { ...at, properties: { ...shared, order_id: '1152921504606846977', value: 1000 } },
  ]);
  expect(counts).toMatchObject({ rows: 5, accepted: 3, repeated: 1, failed: { time_missing: 1 } });
  expect(errorsPath).toBe(join(folder, 'till.errors.ndjson'));
  expect(JSON.parse(errors)).toMatchObject({ import_line: 3, Bon: 3, Betrag: 2 });
  const missing = readForm(path, { ...FORM, clickhouse: join(folder, 'none') });
  await expect(missing).rejects.toMatchObject({ code: 'clickhouse_missing' });
});

const many = (count: number): string =>
  [
    'Bon;Datum;Betrag',
    ...Array.from({ length: count }, (_, row) => `${row % 7 === 0 ? '' : row};27.11.2026;${row % 3}`),
  ].join('\n');

test('a file is sent in batches as large as the edge takes, and once, however often it is imported', async () => {
  const path = written(many(230));
  const first = await imported(path);
  expect(first.sizes).toEqual([50, 50, 50, 50, 30]);
  expect(new Set(first.got.map(({ uuid }) => uuid)).size).toBe(230);
  const again = await imported(path);
  expect(again).toMatchObject({ got: [], finishedAt: '2026-11-27T12:00:00.000Z', counts: first.counts });
  const third = await imported(path, { isAgain: true });
  expect(third.got).toEqual(first.got);
});

test('an import that ended anywhere goes on there, with the same ids and errors', async () => {
  const content = `${many(1_200)}\nlate;Datum?;1\nlast;27.11.2026;1\n`;
  const whole = await imported(written(content));
  const path = written(content);
  const ids = new Set<string>();
  const errors: string[] = [];
  for (let end = 0; errors.length === 0; end += 3) {
    const stops = edge((events, request) => {
      if (request > 3) throw new Error(`killed after ${end}`);
      return { accepted: events.length };
    });
    const run = await imported(path, {}, stops).catch((error: Error) => {
      expect(error.message).toMatch(/^killed/);
      return null;
    });
    for (const { uuid } of stops.got) ids.add(uuid);
    if (run !== null) errors.push(run.errors);
    if (run !== null) expect(run.counts).toEqual(whole.counts);
  }
  expect([...ids].sort()).toEqual(whole.got.map(({ uuid }) => uuid).sort());
  expect(errors).toEqual([whole.errors]);
});

test('where the allowance ends, the import ends, and goes on there', async () => {
  const path = written(many(120));
  const full = edge((events, request) => (request < 3 ? { accepted: events.length } : { accepted: 5, dropped: 15 }));
  await expect(imported(path, {}, full)).rejects.toMatchObject({ code: 'allowance_exhausted' });
  const { counts, got } = await imported(path);
  expect(got).toHaveLength(20);
  expect(counts).toMatchObject({ rows: 120, accepted: 120 });
});

test('sales of more than a week ago are warned of once, and counted', async () => {
  const late = ['Bon;Datum', ...Array.from({ length: 120 }, (_, row) => `${row};${row < 100 ? '10' : '26'}.11.2026`)];
  const { counts, said } = await imported(written(late.join('\n')));
  expect(counts.late).toBe(100);
  expect(said.filter((line) => line.startsWith('warning'))).toHaveLength(1);
});

test('a preview sends nothing, writes nothing, and counts what would be sent', async () => {
  const path = written(`${many(120)}\nx;gestern;1\n`);
  const { counts, events, failed } = await previewFile(await planOf(path), NOW_MS);
  expect(counts).toMatchObject({ rows: 121, accepted: 120, failed: { time_unreadable: 1 } });
  expect(events).toHaveLength(3);
  expect(failed).toEqual([{ line: 122, code: 'time_unreadable', reason: expect.stringContaining('Datum: ') }]);
  expect(() => readFileSync(`${path}.progress.json`)).toThrow('ENOENT');
});

test('what the edge refuses ends the import by its code', async () => {
  const { ports } = edge();
  const post = async () => ({ status: 403, retryAfter: null, body: '{"error":{"code":"key_revoked","message":""}}' });
  const plan = await planOf(written(many(3)));
  await expect(importFile(plan, { ...ports, post })).rejects.toBeInstanceOf(SendError);
});
