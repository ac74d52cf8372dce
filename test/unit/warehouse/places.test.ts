import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { databasesOf, openPlaces } from '#infra/places/places.ts';

type Value = string | number | { [name: string]: Value };

/** A control byte with a type and a length below 285, which stands in another byte from 29 on. */
function head(type: number, length: number): Buffer {
  const [short, more] = length < 29 ? [length, []] : [29, [length - 29]];
  return Buffer.from(type < 8 ? [(type << 5) | short, ...more] : [short, type - 7, ...more]);
}

function encoded(value: Value): Buffer {
  if (typeof value === 'string') return Buffer.concat([head(2, Buffer.byteLength(value)), Buffer.from(value)]);
  if (typeof value === 'number') return Buffer.concat([head(6, 4), Buffer.from(Uint32Array.of(value).buffer).swap32()]);
  const entries = Object.entries(value);
  return Buffer.concat([head(7, entries.length), ...entries.flatMap((entry) => entry.map(encoded))]);
}

/** A database in MaxMind's format that has one record for each of some networks of IPv4: their first octet. */
function database(records: Readonly<Record<number, Value>>): Buffer {
  const data: Buffer[] = [];
  const nodes: [number, number][] = [[-1, -1]];
  const leaves: [node: number, side: 0 | 1, offset: number][] = [];
  for (const [octet, record] of Object.entries(records)) {
    let node = 0;
    for (let bit = 7; bit >= 0; bit--) {
      const side = ((Number(octet) >> bit) & 1) as 0 | 1;
      if (bit === 0) leaves.push([node, side, data.reduce((sum, { length }) => sum + length, 0)]);
      else {
        const row = nodes[node] as [number, number];
        if (row[side] === -1) row[side] = nodes.push([-1, -1]) - 1;
        node = row[side];
      }
    }
    data.push(encoded(record));
  }
  for (const [node, side, offset] of leaves) (nodes[node] as [number, number])[side] = nodes.length + 16 + offset;
  const tree = Buffer.alloc(nodes.length * 6);
  for (const [at, sides] of nodes.entries()) {
    for (const [side, to] of sides.entries()) tree.writeUIntBE(to === -1 ? nodes.length : to, at * 6 + side * 3, 3);
  }
  const metadata = encoded({
    ...{ node_count: nodes.length, record_size: 24, ip_version: 4, database_type: 'test', build_epoch: 1_790_000_000 },
    ...{ binary_format_major_version: 2, binary_format_minor_version: 0, languages: {}, description: {} },
  });
  return Buffer.concat([
    tree,
    Buffer.alloc(16),
    ...data,
    Buffer.from('abcdef', 'hex'),
    Buffer.from('MaxMind.com'),
    metadata,
  ]);
}

const city = (name: string): Value => ({ country: { iso_code: 'BE' }, city: { names: { en: name } } });

function fileWith(bytes: Buffer): { file: string; replace(bytes: Buffer): void } {
  const folder = mkdtempSync(join(tmpdir(), 'places-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'city.mmdb');
  writeFileSync(file, bytes);
  let number = 0;
  const replace = (other: Buffer): void => {
    writeFileSync(`${file}.${++number}`, other);
    renameSync(`${file}.${number}`, file);
  };
  return { file, replace };
}

async function open(files: readonly string[]) {
  const said: string[] = [];
  const log = (_facts: unknown, message: string): void => void said.push(message);
  const places = await openPlaces(files, { info: log, warn: log } as unknown as Parameters<typeof openPlaces>[1]);
  onTestFinished(() => places.stop());
  return { places, said };
}

test('the database that npm brings knows countries, and no place of an address that is nobody’s', async () => {
  const { places } = await open(databasesOf(['package']));
  const countries = ['193.191.0.1', '::ffff:193.191.0.1', '[2a02:a03f::1]', '2a02:a03f::1'].map((ip) =>
    places.placeOf(ip),
  );
  expect(countries).toEqual(Array(4).fill({ country: 'BE', region: '', city: '' }));
  const none = [
    '127.0.0.1',
    '10.1.2.3',
    '192.168.1.1',
    '100.64.0.1',
    '169.254.0.1',
    '::1',
    'fd00::1',
    '203.0.113',
    'x',
    '',
  ];
  expect(none.map((ip) => places.placeOf(ip))).toEqual(none.map(() => null));
});

test('the first database that knows an address tells its place', async () => {
  const { file } = fileWith(database({ 193: city('Leuven') }));
  const { places } = await open(databasesOf([file, 'package']));
  expect(places.placeOf('193.191.0.1')).toEqual({ country: 'BE', region: '', city: 'Leuven' });
  expect(places.placeOf('194.109.6.66')).toMatchObject({ country: 'NL', city: '' });
  expect(places.placeOf('2a02:a03f::1')).toMatchObject({ country: 'BE', city: '' });
});

test('a file that changed is read anew, and one that is broken leaves the places there were', async () => {
  const { file, replace } = fileWith(database({ 81: city('Mechelen') }));
  const { places, said } = await open([file]);
  const version = places.version;
  await places.renew();
  expect([places.version, said]).toEqual([version, ['places read']]);
  replace(database({ 81: city('Antwerp') }));
  await places.renew();
  expect([places.placeOf('81.82.1.1')?.city, places.version]).toEqual(['Antwerp', version + 1]);
  replace(database({ 81: city('Ghent') }).subarray(0, 60));
  for (let times = 0; times < 2; times++) await places.renew();
  expect([places.placeOf('81.82.1.1')?.city, places.version, said.slice(2)]).toEqual([
    'Antwerp',
    version + 1,
    ['places not renewed, earlier ones stay'],
  ]);
});

test('a database that cannot be read at the start stops the process, and none is none', async () => {
  await expect(open(['/nowhere/city.mmdb'])).rejects.toMatchObject({ code: 'places_unreadable', recovery: 'stop' });
  const { file } = fileWith(Buffer.from('no database'));
  await expect(open([file])).rejects.toMatchObject({ code: 'places_unreadable' });
  const { places } = await open(databasesOf(['none']));
  expect(places.placeOf('193.191.0.1')).toBe(null);
});
