import { expect, test } from 'vitest';
import { UsageError } from '#services/cli/command.ts';
import { readMappingFile, readPairs, resolveMapping, type WantedMapping } from '#services/cli/import/mapping.ts';
import { checkAll } from '#test/harness/check_all.ts';

const NOTHING: WantedMapping = {
  columns: {},
  constants: {},
  values: {},
  id: null,
  zone: null,
  dates: 'auto',
  decimal: 'auto',
  negative: 'error',
};

const mapped = (columns: string[], wanted: Partial<WantedMapping> = {}, isGuessed = true): Record<string, string> =>
  Object.fromEntries(
    resolveMapping({ ...NOTHING, ...wanted }, columns, isGuessed).fields.map((one) => [
      one.field,
      one.columns.join(' + '),
    ]),
  );

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof UsageError) return error.code;
    throw error;
  }
  return 'none';
}

test('usual names of columns are guessed in several languages', () =>
  checkAll<[string[], Record<string, string>]>(
    [
      [
        ['Bon-Nr.', 'Datum', 'Uhrzeit', 'Betrag', 'Währung', 'E-Mail', 'Telefon', 'PLZ', 'Kasse'],
        {
          order_id: 'Bon-Nr.',
          time: 'Datum + Uhrzeit',
          value: 'Betrag',
          currency: 'Währung',
          email: 'E-Mail',
          phone: 'Telefon',
          zip: 'PLZ',
        },
      ],
      [
        ['Order ID', 'Conversion Time', 'Conversion Value', 'Conversion Currency', 'Email', 'Phone Number'],
        {
          order_id: 'Order ID',
          time: 'Conversion Time',
          value: 'Conversion Value',
          currency: 'Conversion Currency',
          email: 'Email',
          phone: 'Phone Number',
        },
      ],
      [['date', 'time', 'total'], { time: 'date + time', value: 'total' }],
      [
        ['event_time', 'event_name', 'fn', 'ln', 'ct'],
        { time: 'event_time', event: 'event_name', first_name: 'fn', last_name: 'ln', city: 'ct' },
      ],
      [
        ['event', 'timestamp', 'uuid', 'properties.value', 'properties.plan'],
        { event: 'event', time: 'timestamp', uuid: 'uuid', value: 'properties.value', plan: 'properties.plan' },
      ],
    ],
    ([columns, fields]) => expect(mapped(columns)).toEqual(fields),
  ));

test('what is said goes before what is guessed', () => {
  const columns = ['Bon', 'Datum', 'Summe', 'Netto'];
  expect(mapped(columns, { columns: { value: 'Netto', order_id: '' } })).toEqual({ value: 'Netto', time: 'Datum' });
  expect(mapped(columns, { columns: { time: 'Datum' } }, false)).toEqual({ time: 'Datum' });
  expect(mapped(['Tag', 'Zeit', 'A+B'], { columns: { time: 'Tag+Zeit', value: 'A+B' } })).toEqual({
    time: 'Tag + Zeit',
    value: 'A+B',
  });
});

test('what cannot be told is refused by a code', () =>
  checkAll<[string[], Partial<WantedMapping>, string]>(
    [
      [['Datum', 'Betrag', 'Summe'], {}, 'mapping_ambiguous'],
      [['Datum', 'Telefon', 'Mobil'], {}, 'mapping_ambiguous'],
      [['Bestelldatum', 'Belegdatum'], {}, 'mapping_ambiguous'],
      [['Datum', 'Zeit', 'Uhrzeit'], {}, 'mapping_ambiguous'],
      [['Betrag'], {}, 'mapping_incomplete'],
      [['Datum'], { columns: { value: 'Betrag' } }, 'column_unknown'],
      [['Datum', 'Betrag', 'Betrag'], { columns: { value: 'Betrag' } }, 'column_repeated'],
      [['Datum', 'Betrag', 'Betrag'], {}, 'column_repeated'],
      [['Datum'], { id: ['Kasse+Bon'] }, 'column_unknown'],
    ],
    ([columns, wanted, code]) => expect(codeOf(() => mapped(columns, wanted))).toBe(code),
  ));

test('pairs may stand in one text, and columns may hold commas', () => {
  expect(readPairs(['order_id=Bon,email=E-Mail', 'value=Summe, brutto,menge:number=Menge'], 'map')).toEqual({
    order_id: 'Bon',
    email: 'E-Mail',
    value: 'Summe, brutto',
    'menge:number': 'Menge',
  });
  expect(readPairs(['timestamp=Datum', '$action_source=Kanal'], 'map')).toEqual({
    time: 'Datum',
    $action_source: 'Kanal',
  });
  expect(codeOf(() => readPairs(['Bon'], 'map'))).toBe('pair_malformed');
  expect(codeOf(() => readPairs(['value=a', 'value=b'], 'map'))).toBe('pair_repeated');
});

test('a mapping file is read by its fields, and by no others', () => {
  const file = {
    columns: { value: 'Summe' },
    set: { currency: 'EUR' },
    values: { event: { V: 'purchase' } },
    zone: 'UTC',
  };
  expect(readMappingFile(file, 'till.json')).toEqual({
    columns: { value: 'Summe' },
    constants: { currency: 'EUR' },
    values: { event: { V: 'purchase' } },
    zone: 'UTC',
  });
  return checkAll(
    [
      { column: {} },
      { columns: { value: 1 } },
      { values: { event: 'x' } },
      { id: 'Bon' },
      { dates: 'german' },
      { set: [] },
    ],
    (wrong) => expect(codeOf(() => readMappingFile(wrong, 'till.json'))).toBe('mapping_malformed'),
  );
});
