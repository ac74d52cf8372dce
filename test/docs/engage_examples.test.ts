import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ENGAGE_KINDS } from '#pipelines/engage/definition_fields.ts';
import { readDefinition } from '#pipelines/engage/site_engage.ts';

const docs = readFileSync(new URL('../../docs/engage.md', import.meta.url), 'utf8');
const definitions = [...docs.matchAll(/^```json\n(.*?)^```/gms)]
  .map(([, text = '']) => JSON.parse(text) as object)
  .filter((example) => 'id' in example);

test.for(ENGAGE_KINDS.map((kind, at) => [kind, at] as const))(
  'the %s in docs/engage.md may be written',
  ([kind, at]) => {
    expect(readDefinition(kind, definitions[at])).toMatchObject({ ok: true, definition: definitions[at] });
  },
);

test('docs/engage.md has one whole definition of each kind', () => {
  expect(definitions).toHaveLength(ENGAGE_KINDS.length);
});
