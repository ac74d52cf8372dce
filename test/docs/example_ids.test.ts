import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const EXAMPLES = ['README.md', 'docs/sending.md', 'services/edge/openapi_shapes.ts'];

/** Of two examples with one id the second that somebody tries out counts as sent again, and is nowhere to be seen. */
test('no two examples of events have one uuid', () => {
  const ids = EXAMPLES.flatMap((name) =>
    [...readFileSync(new URL(name, ROOT), 'utf8').matchAll(/\buuid["']?: ?["']([^"']+)/g)].map(([, id]) => id),
  );
  expect(ids.length).toBeGreaterThan(EXAMPLES.length);
  expect(ids).toEqual([...new Set(ids)]);
});
