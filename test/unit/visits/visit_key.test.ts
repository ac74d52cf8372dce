import { expect, test } from 'vitest';
import { visitKey, type Word } from '#pipelines/visits/visit_key.ts';

const wordOf = (text: string): Word => ({
  bytes: Buffer.from(`"${text}"`),
  start: 1,
  end: 1 + Buffer.byteLength(text),
});

interface Said {
  session?: string;
  device?: string;
  visitor?: string;
}

function keyOf({ session = '', device = '', visitor = 'ada' }: Said) {
  return visitKey({ session: wordOf(session), device: wordOf(device), visitor: wordOf(visitor) });
}
const key = (said: Said): string => Object.values(keyOf(said)).join();
const isTold = (said: Said): boolean => keyOf(said).low % 2 === 1;

const UUID = '019a2b3c-0000-7000-8000-000000000001';

test('a session that has an id of its own is one, whoever its visitor turns out to be', () => {
  expect(key({ session: UUID })).toBe(key({ session: UUID, visitor: 'user-7', device: 'x' }));
  expect(key({ session: UUID })).not.toBe(key({ session: `${UUID}1` }));
  expect(isTold({ session: UUID })).toBe(true);
});

test('a session that is told by its time is one of its browser', () => {
  expect(key({ session: '1790000000' })).not.toBe(key({ session: '1790000000', visitor: 'bob' }));
  expect(key({ session: '1790000000', device: 'd' })).toBe(key({ session: '1790000000', device: 'd', visitor: 'bob' }));
  expect(key({ session: '12', device: '3' })).not.toBe(key({ session: '1', device: '23' }));
});

test('where nobody tells sessions, visits are those of a device, else of a visitor', () => {
  expect(key({ device: 'd' })).toBe(key({ device: 'd', visitor: 'bob' }));
  expect(key({})).not.toBe(key({ visitor: 'bob' }));
  for (const session of ['', 'null', 'undefined', '0', 'NaN']) expect(isTold({ session })).toBe(false);
});

test('no key of many is zero, or another one', () => {
  const keys = Array.from({ length: 20_000 }, (_, at) => [
    key({ visitor: `v${at}` }),
    key({ session: `s${at}`.padEnd(20, '-') }),
  ]);
  expect(new Set(keys.flat()).size).toBe(40_000);
  expect(new Set(keys.flat())).not.toContain('0,0');
});
