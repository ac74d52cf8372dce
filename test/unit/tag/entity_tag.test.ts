import { expect, test } from 'vitest';
import { isKnown } from '#pipelines/tag/http.ts';

test.each([
  [undefined, false],
  ['"abc"', true],
  ['W/"abc"', true],
  ['"x", "abc"', true],
  ['*', true],
  ['"abc-gzip"', false],
  ['abc', false],
  ['', false],
])('If-None-Match %j: %s', (header, known) => {
  expect(isKnown(header, '"abc"')).toBe(known);
});
