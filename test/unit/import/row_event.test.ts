import { expect, test } from 'vitest';
import { openSeenRows } from '#services/cli/import/import_file.ts';
import { resolveMapping, type WantedMapping } from '#services/cli/import/mapping.ts';
import { createZoneOffsets } from '#services/cli/import/read_values.ts';
import {
  type Cell,
  type Cells,
  completeEvent,
  eventId,
  maskedEvent,
  type OutgoingEvent,
  rowEvent,
} from '#services/cli/import/row_event.ts';
import { checkAll } from '#test/harness/check_all.ts';

const NOW_MS = Date.UTC(2026, 10, 27, 12);
const offsets = createZoneOffsets();
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
const TIME = '27.11.2026 09:00';

/** The event of a row, or why there is none, where each cell's column is mapped by its name. */
function read(cells: Cells, wanted: Partial<WantedMapping> = {}, site = 'shop') {
  const whole = { Datum: TIME, ...cells };
  const mapping = resolveMapping({ ...WANTED, ...wanted }, Object.keys(whole), true);
  return rowEvent(whole, { site, mapping, offsets, nowMs: NOW_MS });
}

function eventOf(cells: Cells, wanted: Partial<WantedMapping> = {}, number = 1, site = 'shop'): OutgoingEvent {
  const outcome = read(cells, wanted, site);
  if (!outcome.ok) throw new Error(outcome.problem);
  return completeEvent(outcome.event, eventId(outcome.key, number));
}

const problemOf = (cells: Cells, wanted: Partial<WantedMapping> = {}): unknown => {
  const outcome = read(cells, wanted);
  return outcome.ok ? 'none' : [outcome.problem, outcome.column];
};

test('a sale that names somebody by a placeholder is a visitor’s of its own', () => {
  const person = (properties: Record<string, string>, distinctId?: string): string | undefined => {
    const { uuid, distinct_id } = completeEvent(
      {
        event: 'purchase',
        timestamp: '2026-11-27T08:00:00.000Z',
        properties,
        ...(distinctId ? { distinct_id: distinctId } : {}),
      },
      'row-1',
    );
    return distinct_id === uuid ? 'own' : distinct_id;
  };
  for (const email of [
    'keine@email.de',
    'noemail@shop.example',
    'test@test.com',
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  ])
    expect(person({ email }), email).toBe('own');
  for (const phone of ['+49 0000 000000', '0049 0000 000000']) expect(person({ phone }), phone).toBe('own');
  for (const external_id of ['0', 'n/a', 'guest']) expect(person({ external_id }), external_id).toBe('own');
  for (const id of ['0', 'guest']) expect(person({}, id), id).toBe('own');
  expect([person({}, 'c-1'), person({ email: 'jane@shop.example' }), person({ phone: '0049 151 57829304' })]).toEqual([
    'c-1',
    undefined,
    undefined,
  ]);
});

test('a stand-in for a value is one that was mapped', () => {
  const values = { event: { Verkauf: 'purchase' } };
  expect(
    ['Verkauf', 'constructor', '__proto__'].map((cell) => eventOf({ event: cell, Betrag: '1' }, { values }).event),
  ).toEqual(['purchase', 'constructor', '__proto__']);
});

test('a row is a purchase with its fields, in a source that is no browser', () => {
  const cells = { Bon: '1001', Betrag: '12,50 €', 'E-Mail': 'me@example.com', Telefon: '+49 151 57829304', Kasse: '7' };
  expect(eventOf(cells)).toEqual({
    event: 'purchase',
    uuid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-5/),
    timestamp: '2026-11-27T08:00:00.000Z',
    properties: {
      $action_source: 'physical_store',
      order_id: '1001',
      value: 12.5,
      currency: 'EUR',
      email: 'me@example.com',
      phone: '+49 151 57829304',
    },
  });
});

test('names and constants stand in for cells, and texts for others', () => {
  const wanted = {
    columns: { event: 'Art', 'menge:number': 'Menge' },
    constants: { currency: 'EUR' },
    values: { event: { Verkauf: 'purchase', Storno: 'refund' } },
  };
  expect(eventOf({ Art: 'Storno', Menge: '2,5' }, wanted)).toMatchObject({
    event: 'refund',
    properties: { menge: 2.5, currency: 'EUR' },
  });
});

test('what cannot be sent says why, and by which column', () =>
  checkAll<[Cells, Partial<WantedMapping>, [string, string | null] | 'none']>(
    [
      [{ Datum: '' }, {}, ['time_missing', null]],
      [{ Datum: 'Summe' }, {}, ['time_unreadable', 'Datum']],
      [{ Datum: '29.11.2026' }, {}, ['time_ahead', 'Datum']],
      [{ Datum: '28.11.2026 09:00' }, {}, 'none'],
      [{ Datum: '03/04/2026' }, {}, ['date_ambiguous', 'Datum']],
      [{ Betrag: '1.234' }, {}, ['number_ambiguous', 'Betrag']],
      [{ Betrag: 'gratis' }, {}, ['number_unreadable', 'Betrag']],
      [{ Betrag: '5 USD', Currency: 'EUR' }, {}, ['currency_conflict', 'Betrag']],
      [{ Currency: 'Euro' }, {}, ['currency_invalid', 'Currency']],
      [{ Betrag: '-5' }, {}, ['value_negative', 'Betrag']],
      [{ Telefon: '4,91516E+11' }, {}, ['id_rounded', 'Telefon']],
      [{ Bon: '1E+05' }, {}, ['id_rounded', 'Bon']],
      [{ Bon: 2 ** 64 }, {}, ['id_rounded', 'Bon']],
      [{ Bon: '', Kasse: '' }, { id: ['Kasse+Bon'] }, ['id_missing', 'Kasse']],
      [{ Art: '' }, { columns: { event: 'Art' }, constants: { event: '' } }, ['event_missing', null]],
    ],
    ([cells, wanted, problem]) => expect(problemOf(cells, wanted)).toEqual(problem),
  ));

test('an amount below zero is what was said of it', () => {
  expect(eventOf({ Betrag: '-5' }, { negative: 'refund' })).toMatchObject({
    event: 'refund',
    properties: { value: 5 },
  });
  expect(eventOf({ Betrag: '-5' }, { negative: 'keep' })).toMatchObject({
    event: 'purchase',
    properties: { value: -5 },
  });
  expect(eventOf({ Betrag: '-5' }, { constants: { event: 'refund' } })).toMatchObject({
    event: 'refund',
    properties: { value: -5 },
  });
});

test('texts that a spreadsheet was kept from changing are read as they were', () => {
  const { properties } = eventOf({ PLZ: '="01067"', Telefon: "'+4915157829304", Ort: '="Dresden"' });
  expect(properties).toMatchObject({ zip: '01067', phone: '+4915157829304', city: 'Dresden' });
});

test('one sale has one id: by site, event and order, or by the columns that were said, or by all that the row holds', () => {
  const id = (cells: Cells, wanted?: Partial<WantedMapping>, number?: number, site?: string): string =>
    eventOf(cells, wanted, number, site).uuid;
  const order = id({ Bon: '1001', Betrag: '5' });
  expect(id({ Bon: '1001', Betrag: '6' })).toBe(order);
  const others = [
    id({ Bon: '1002', Betrag: '5' }),
    id({ Bon: '1001', Betrag: '5' }, {}, 1, 'blog'),
    id({ Bon: '1001', Betrag: '5' }, { constants: { event: 'refund' } }),
    id({ Bon: '1001', Kasse: '1' }, { id: ['Kasse+Bon'] }),
    id({ Bon: '1001', Kasse: '2' }, { id: ['Kasse+Bon'] }),
    id({ Betrag: '5', Kasse: '1' }),
    id({ Betrag: '5', Kasse: '2' }),
    id({ Betrag: '5', Kasse: '1' }, {}, 2),
  ];
  expect(new Set([order, ...others]).size).toBe(others.length + 1);
  expect(id({ Kasse: '1', Betrag: '5' })).toBe(id({ Betrag: '5', Kasse: '1' }));
  expect(id({ uuid: 'till-7-1' })).toBe('till-7-1');
});

test('a sale that names nobody is a visitor of its own', () => {
  const hasOwn = (cells: Record<string, Cell>): boolean => {
    const { uuid, distinct_id } = eventOf(cells);
    return distinct_id === uuid;
  };
  return checkAll<[Record<string, Cell>, boolean]>(
    [
      [{ Bon: '1' }, true],
      [{ Bon: '1', 'E-Mail': 'keine' }, true],
      [{ Bon: '1', Telefon: '0151 57829304' }, true],
      [{ Bon: '1', Telefon: '+49 151 57829304' }, false],
      [{ Bon: '1', 'E-Mail': 'me@example.com' }, false],
      [{ Bon: '1', 'E-Mail': 'ab'.repeat(32) }, false],
      [{ Bon: '1', Kundennummer: '77' }, false],
      [{ Bon: '1', distinct_id: 'visitor' }, false],
    ],
    ([cells, own]) => expect(hasOwn(cells)).toBe(own),
  );
});

test('a row is known again by its key, and by its contents', () => {
  const seen = openSeenRows();
  const note = (cells: Cells, line: number) => {
    const outcome = read(cells);
    if (!outcome.ok) throw new Error(outcome.problem);
    return seen.note(outcome.key, cells, line);
  };
  expect(note({ Bon: '1', Betrag: '5' }, 2)).toEqual({ kind: 'first', number: 1 });
  expect(note({ Bon: '1', Betrag: '5' }, 3)).toEqual({ kind: 'again', number: 1 });
  expect(note({ Bon: '1', Betrag: '6' }, 4)).toEqual({ kind: 'other_contents', line: 2 });
  expect(note({ Betrag: '2' }, 5)).toEqual({ kind: 'first', number: 1 });
  expect(note({ Betrag: '2' }, 6)).toEqual({ kind: 'first', number: 2 });
  seen.close();
});

test('a preview shows nobody', () => {
  const event = eventOf({ 'E-Mail': 'jane.doe@example.com', Telefon: '+4915157829304', Vorname: 'Jane', Betrag: '5' });
  const text = JSON.stringify(maskedEvent(event));
  expect(text).toContain('"value":5');
  expect(text).not.toMatch(/jane\.doe|15157829304|"Jane"/);
});
