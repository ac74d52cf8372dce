import { expect, test } from 'vitest';
import { chooseCoding } from '#pipelines/tag/http.ts';

test.each([
  [undefined, 'identity'],
  ['', 'identity'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['br;q=0.2, gzip;q=0.9', 'gzip'],
  ['br;q=0, gzip;q=0', 'identity'],
  ['br;q=0, *', 'gzip'],
  ['*', 'br'],
  ['*;q=0', 'identity'],
  ['identity;q=0, *', 'br'],
  ['identity, gzip;q=0.5', 'identity'],
  ['gzip;q=0.5', 'gzip'],
  ['deflate, zstd', 'identity'],
  ['identity;q=0', 'identity'],
  ['br;q=2, gzip', 'gzip'],
  ['br ; q=1.000 , gzip', 'br'],
])('Accept-Encoding %j gets %s', (header, coding) => {
  expect(chooseCoding(header)).toBe(coding);
});
