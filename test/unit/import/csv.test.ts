import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvField, nextRecord, RECORD_BYTES_MAX, separatorOf, splitFields } from '#services/cli/import/csv.ts';
import { checkAll } from '#test/harness/check_all.ts';

const SEMICOLON = 0x3b;

interface Read {
  fields: string[] | string;
  lines: number;
}

/** Every record, as a reader sees them to whom the bytes come in pieces of these lengths. */
function recordsOf(bytes: Buffer, pieces: readonly number[] = []): Read[] {
  let sum = 0;
  const ends = pieces.map((length) => (sum += length));
  const read: Read[] = [];
  let at = 0;
  for (const end of [...ends.filter((one) => one < bytes.length), bytes.length]) {
    const isLast = end === bytes.length;
    while (at < end) {
      const record = nextRecord(bytes.subarray(0, end), at, SEMICOLON, isLast);
      if (record === null) break;
      const text = bytes.subarray(at, record.end).toString('utf8');
      read.push({ fields: record.problem ?? splitFields(text, ';'), lines: record.lines });
      at = record.next;
    }
  }
  expect(at).toBe(bytes.length);
  return read;
}

const fieldsOf = (text: string): (string[] | string)[] => recordsOf(Buffer.from(text)).map(({ fields }) => fields);

test('records are read by RFC 4180, with every kind of line break', () =>
  checkAll<[string, (string[] | string)[]]>(
    [
      [
        'a;b\r\nc;d\r\n',
        [
          ['a', 'b'],
          ['c', 'd'],
        ],
      ],
      [
        'a;b\nc;d',
        [
          ['a', 'b'],
          ['c', 'd'],
        ],
      ],
      ['a\rb\r', [['a'], ['b']]],
      ['"a;b";"c ""d"""\n', [['a;b', 'c "d"']]],
      [
        '"two\r\nlines";x\ny;z\n',
        [
          ['two\r\nlines', 'x'],
          ['y', 'z'],
        ],
      ],
      [';;\n', [['', '', '']]],
      ['"";\n', [['', '']]],
      ['5" screen;x\n', [['5" screen', 'x']]],
      ['"";""', [['', '']]],
    ],
    ([text, rows]) => expect(fieldsOf(text)).toEqual(rows),
  ));

test('a wrong quotation mark takes its own line and no other', () => {
  expect(fieldsOf('a;"b\nc;d\ne;f\n')).toEqual(['quote_unclosed', ['c', 'd'], ['e', 'f']]);
  expect(fieldsOf('a;"b\nc;"d"\ne;f\n')).toEqual(['quote_misplaced', ['c', 'd'], ['e', 'f']]);
  expect(fieldsOf('"a"b;c\nd;e\n')).toEqual(['quote_misplaced', ['d', 'e']]);
});

test('a row without an end is no reason to keep it all', () => {
  const long = 'x'.repeat(RECORD_BYTES_MAX + 10);
  expect(fieldsOf(`${long};a\nb;c\n`)).toEqual(['row_too_long', ['b', 'c']]);
  expect(fieldsOf(`"${long}\nb;c\n`)).toEqual(['quote_unclosed', ['b', 'c']]);
});

test('lines are counted, also those inside of a field', () => {
  expect(recordsOf(Buffer.from('a\n"b\nc\r\nd"\ne')).map(({ lines }) => lines)).toEqual([1, 3, 0]);
});

const field = fc.string({ unit: fc.constantFrom('a', 'é', '"', ';', '\n', '\r', ' ', ',', '1'), maxLength: 6 });

test('what is written as CSV is read as it was, in whatever pieces it comes', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(field, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 6 }),
      fc.constantFrom('\n', '\r\n'),
      fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 40 }),
      (rows, lineBreak, pieces) => {
        const text = rows.map((row) => row.map((one) => csvField(one, ';')).join(';') + lineBreak).join('');
        expect(recordsOf(Buffer.from(text), pieces).map(({ fields }) => fields)).toEqual(rows);
      },
    ),
  );
});

test('pieces change nothing of what is read, sound or not', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', '"', ';', '\n', '\r'), maxLength: 40 }),
      fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 40 }),
      (text, pieces) => {
        expect(recordsOf(Buffer.from(text), pieces)).toEqual(recordsOf(Buffer.from(text)));
      },
    ),
  );
});

test('the separator is that of the header, unless two may be', () =>
  checkAll<[string, string | null]>(
    [
      ['Bon;Datum;Betrag', ';'],
      ['Bon\tDatum', '\t'],
      ['order,time,value', ','],
      ['"Name, Vorname";Betrag;Datum', ';'],
      ['order', ','],
      ['a;b,c', null],
    ],
    ([header, separator]) => expect(separatorOf(header)).toBe(separator),
  ));
