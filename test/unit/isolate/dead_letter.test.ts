import { expect, test } from 'vitest';
import { presentReason } from '#pipelines/redelivery/dead_letter.ts';

test.each([
  ['threw', 'transform_failed'],
  ['kills_process', 'poison_pill'],
  ['transform_failed', 'transform_failed'],
  ['schema_unknown', 'schema_unknown'],
])('a letter written for %s is shown for %s', (written, shown) => {
  expect(presentReason(written)).toBe(shown);
});
