// Which columns of a file become which fields of an event: what was typed, what a mapping file says, and what usual names tell.

import { UsageError } from '../command.ts';
import { DATE_FORMS, type DateForm, type Decimal } from './read_values.ts';

/** What is done with an amount below zero: a purchase of less than nothing is a refund, or was meant so. */
export const NEGATIVES = ['error', 'refund', 'keep'] as const;
type Negative = (typeof NEGATIVES)[number];

/** How a cell is read. */
type FieldKind = 'event' | 'time' | 'number' | 'identifier' | 'currency' | 'text';

/** A field of the event and where it comes from; several columns are joined by blanks, as a date and a time of day. */
export interface MappedField {
  /** `event`, `time`, `uuid`, `distinct_id`, or the name of a property. */
  field: string;
  kind: FieldKind;
  columns: readonly string[];
}

export interface Mapping {
  fields: readonly MappedField[];
  /** Values by field, for rows whose cell is empty or that have none. */
  constants: Readonly<Record<string, string | number | boolean>>;
  /** What stands in place of a cell's text, by field. */
  values: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Columns that together name a sale; null: its order id does. */
  id: readonly string[] | null;
  zone: string | null;
  dates: DateForm;
  decimal: Decimal;
  negative: Negative;
}

/** What was asked for, before the columns of the file are known. */
export interface WantedMapping extends Omit<Mapping, 'fields'> {
  /** `FIELD=COLUMN` as typed; an empty column keeps a field from being guessed. */
  columns: Readonly<Record<string, string>>;
}

const NUMBERS = new Set(['value', 'price', 'quantity', 'tax', 'shipping', 'discount', 'revenue']);
const IDENTIFIERS = new Set(['uuid', 'distinct_id', 'order_id', 'external_id', 'phone', 'zip']);
const PAIRS = /,(?=[\w$.]+(?::number)?=)/;

/** Reads `order_id=Bon,email=E-Mail`. @throws UsageError */
export function readPairs(texts: readonly string[], option: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const pair of texts.flatMap((text) => text.split(PAIRS))) {
    const [, field, value] = /^([\w$.]+(?::number)?)=(.*)$/s.exec(pair) ?? [];
    if (field === undefined || value === undefined) {
      throw new UsageError('pair_malformed', `--${option} takes FIELD=${option === 'map' ? 'COLUMN' : 'VALUE'}`);
    }
    const name = field === 'timestamp' ? 'time' : field;
    if (pairs[name] !== undefined) throw new UsageError('pair_repeated', `--${option} names ${name} twice`);
    pairs[name] = value;
  }
  return pairs;
}

const FILE_KEYS = new Set(['columns', 'set', 'values', 'id', 'zone', 'dates', 'decimal', 'negative']);

/** What a mapping file says; options that are given go before it. @throws UsageError for what is none of its fields */
export function readMappingFile(file: Record<string, unknown>, path: string): Partial<WantedMapping> {
  const wrong = (name: string, what: string): UsageError =>
    new UsageError('mapping_malformed', `${path}: ${name} is not ${what}`);
  const unknown = Object.keys(file).find((key) => !FILE_KEYS.has(key));
  if (unknown !== undefined) throw wrong(unknown, `one of ${[...FILE_KEYS].join(', ')}`);
  const texts = (name: string, value: unknown): Record<string, string> => {
    const isSound = isObject(value) && Object.values(value).every((one) => typeof one === 'string');
    if (!isSound) throw wrong(name, 'an object of texts');
    return value as Record<string, string>;
  };
  const choice = <T extends string>(name: string, of: readonly T[]): T => {
    const found = of.find((one) => one === file[name]);
    if (found === undefined) throw wrong(name, `one of ${of.join(', ')}`);
    return found;
  };
  const { columns, set, values, id, zone } = file;
  const read: Partial<WantedMapping> = {};
  if (columns !== undefined) read.columns = texts('columns', columns);
  if (set !== undefined) {
    if (!isObject(set)) throw wrong('set', 'an object');
    read.constants = set as Mapping['constants'];
  }
  if (values !== undefined) {
    if (!isObject(values)) throw wrong('values', 'an object');
    read.values = Object.fromEntries(
      Object.entries(values).map(([field, one]) => [field, texts(`values.${field}`, one)]),
    );
  }
  if (id !== undefined) {
    if (!Array.isArray(id) || !id.every((one) => typeof one === 'string')) throw wrong('id', 'a list of columns');
    read.id = id;
  }
  if (zone !== undefined) {
    if (typeof zone !== 'string') throw wrong('zone', 'a text');
    read.zone = zone;
  }
  if (file['dates'] !== undefined) read.dates = choice('dates', DATE_FORMS);
  if (file['decimal'] !== undefined) read.decimal = choice('decimal', ['auto', ',', '.']);
  if (file['negative'] !== undefined) read.negative = choice('negative', NEGATIVES);
  return read;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Usual names of columns, without case, accents, blanks and signs. */
const USUAL: Readonly<Record<string, string>> = {
  event: 'event eventname event_name conversionname ereignis evenement',
  uuid: 'uuid eventid',
  distinct_id: 'distinctid svcdid visitorid',
  order_id:
    'orderid order ordernumber orderno transactionid invoice invoiceno invoicenumber receipt receiptno receiptnumber bestellnummer bestellnr auftragsnummer auftragsnr bon bonnr bonnummer beleg belegnr belegnummer rechnungsnummer rechnungsnr commande numerocommande numerodecommande ordernummer bestelnummer pedido ordine',
  value:
    'value amount total ordertotal totalprice grandtotal conversionvalue revenue betrag umsatz summe gesamt gesamtbetrag bruttobetrag brutto endbetrag montant bedrag importe importo',
  currency: 'currency currencycode conversioncurrency wahrung waehrung devise valuta moneda',
  email: 'email emailaddress mail emailadresse kundenemail customeremail adresseemail courriel correo',
  phone:
    'phone phonenumber telephone tel telefon telefonnummer telefonnr mobile mobil handy handynummer customerphone portable telefoon',
  first_name: 'firstname fn givenname vorname prenom voornaam',
  last_name: 'lastname ln surname familyname nachname familienname nom achternaam',
  city: 'city ct town ort stadt wohnort ville plaats',
  zip: 'zip zipcode postalcode postcode plz postleitzahl codepostal',
  country: 'country countrycode land landercode pays',
  external_id:
    'externalid customerid customernumber customerno kundennummer kundennr kundenid numeroclient klantnummer',
  client_ip_address: 'clientipaddress clientip ip ipaddress',
  client_user_agent: 'clientuseragent useragent',
  $action_source: 'actionsource',
};
const MOMENTS =
  'timestamp datetime eventtime eventtimestamp conversiontime createdat orderedat soldat zeitpunkt zeitstempel datumuhrzeit dateheure';
const DAYS =
  'date orderdate saledate transactiondate datum bestelldatum kaufdatum belegdatum bondatum verkaufsdatum fecha';
const CLOCKS = 'time uhrzeit zeit heure tijd hora ora';

const fieldsByName = new Map(
  Object.entries({ ...USUAL, moment: MOMENTS, day: DAYS, clock: CLOCKS }).flatMap(([field, names]) =>
    names.split(' ').map((name) => [name, field] as const),
  ),
);

const plainName = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace('ß', 'ss')
    .replace(/[^a-z0-9]/g, '');

/** Columns by the field that their names tell; those of an event's own properties (`properties.plan`) by that of the property. */
function guess(columns: readonly string[]): Map<string, string[]> {
  const guessed = new Map<string, string[]>();
  for (const column of columns) {
    const property = /^properties\.(.+)$/.exec(column)?.[1];
    const field = property ?? fieldsByName.get(plainName(column));
    if (field !== undefined) guessed.set(field, [...(guessed.get(field) ?? []), column]);
  }
  const [moments, days, clocks] = ['moment', 'day', 'clock'].map((name) => guessed.get(name) ?? []);
  for (const name of ['moment', 'day', 'clock']) guessed.delete(name);
  const time = moments?.length ? moments : days?.length === 1 && clocks?.length ? [...days, ...clocks] : days;
  const found = time?.length ? time : (clocks ?? []);
  if (found.length > 0) guessed.set('time', found);
  return guessed;
}

/** A date and a time of day are one moment; anything else that two columns could be is not to be guessed. */
const isPair = (field: string, columns: readonly string[]): boolean =>
  field === 'time' &&
  columns.length === 2 &&
  fieldsByName.get(plainName(columns[0] ?? '')) === 'day' &&
  fieldsByName.get(plainName(columns[1] ?? '')) === 'clock';

/**
 * The mapping for a file with these columns. Fields that were not named are those whose usual names the columns have.
 *
 * @param isGuessed False: only what was named.
 * @throws UsageError for a column that is not there or is there twice, a field that two columns could be, no time, or no event
 */
export function resolveMapping(wanted: WantedMapping, columns: readonly string[], isGuessed: boolean): Mapping {
  const fields: MappedField[] = [];
  for (const [name, text] of Object.entries(wanted.columns)) {
    if (text === '') continue;
    const [field = '', suffix] = name.split(':');
    fields.push({ field, kind: suffix === 'number' ? 'number' : kindOf(field), columns: columnsOf(text, columns) });
  }
  const named = new Set(Object.keys(wanted.columns).map((name) => name.split(':')[0]));
  for (const [field, found] of isGuessed ? guess(columns) : []) {
    if (named.has(field) || (wanted.constants[field] !== undefined && found.length > 1)) continue;
    const distinct = found.map((column) => onlyOne(column, columns));
    if (found.length > 1 && !isPair(field, found)) {
      const message = `${found.join(' and ')} may each be ${field}: say --map ${field}=COLUMN, or --map ${field}= for none`;
      throw new UsageError('mapping_ambiguous', message);
    }
    fields.push({ field, kind: kindOf(field), columns: distinct });
  }
  if (!fields.some(({ field }) => field === 'time')) {
    throw new UsageError('mapping_incomplete', 'no column says when it happened: say --map time=COLUMN');
  }
  const id = wanted.id?.flatMap((text) => columnsOf(text, columns)) ?? null;
  return { ...wanted, fields, constants: { event: 'purchase', ...wanted.constants }, id };
}

function kindOf(field: string): FieldKind {
  if (field === 'event' || field === 'time' || field === 'currency') return field;
  if (NUMBERS.has(field)) return 'number';
  return IDENTIFIERS.has(field) ? 'identifier' : 'text';
}

/** A column, or several with a plus between. */
function columnsOf(text: string, columns: readonly string[]): string[] {
  if (columns.includes(text)) return [onlyOne(text, columns)];
  const parts = text.split('+');
  const missing = parts.find((part) => !columns.includes(part));
  if (missing === undefined) return parts.map((part) => onlyOne(part, columns));
  throw new UsageError('column_unknown', `there is no column ${missing}; there are: ${columns.join(', ')}`);
}

function onlyOne(column: string, columns: readonly string[]): string {
  if (columns.indexOf(column) === columns.lastIndexOf(column)) return column;
  throw new UsageError(
    'column_repeated',
    `more than one column is called ${column}: give them other names in the file`,
  );
}

/** The mapping in lines, as a dry run shows it. */
export function describeMapping(
  { fields, constants, id, zone, dates, decimal, negative }: Mapping,
  columns: readonly string[],
): string[] {
  const mapped = fields.map(({ field, columns }) => `  ${field} = ${columns.join(' + ')}`);
  const given = Object.entries(constants)
    .filter(([field]) => !fields.some((one) => one.field === field))
    .map(([field, value]) => `  ${field} is ${String(value)}`);
  const used = new Set<string>(fields.flatMap((field) => field.columns));
  const left = columns.filter((column) => column !== '' && !used.has(column));
  const notSent = left.length === 0 ? [] : [`  not sent: ${left.join(', ')}`];
  const names = id === null ? [] : [`  a sale is named by ${id.join(' + ')}`];
  const forms = `  zone ${zone ?? 'not stated'}, dates ${dates}, decimal sign ${decimal}, negative amounts: ${negative}`;
  return [...mapped, ...given, ...notSent, ...names, forms];
}
