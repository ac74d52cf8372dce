import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type JsonOutlineRead, JsonScanner, type KeyPlaces } from '#pipelines/intake/json_text.ts';

const PLACES: KeyPlaces = [['api_key'], ['token'], ['properties', 'token']];

function outlineOf(text: string, stepBytes = 1 << 20): JsonOutlineRead {
  const reader = new JsonScanner(Buffer.from(text), PLACES);
  for (let steps = 0; steps < 1_000_000; steps++) {
    const read = reader.step(stepBytes);
    if (read !== null) return read;
  }
  throw new Error('the reader does not end');
}

function keyOf(text: string, stepBytes?: number): string | null | undefined {
  const read = outlineOf(text, stepBytes);
  return read.ok ? read.outline.key : undefined;
}

const KEYS: [text: string, key: string | null][] = [
  ['{"api_key":"a","token":"t"}', 'a'],
  ['{"token":"t","batch":[{"api_key":"no"}],"api_key":"a"}', 'a'],
  ['{"event":"e","properties":{"x":{"token":"no"},"token":"t"}}', 't'],
  ['[{"event":"e","properties":{"token":"t"}},{"api_key":"no"}]', 't'],
  ['[{"event":"e"},{"api_key":"no"}]', null],
  ['[[{"api_key":"no"}]]', null],
  ['{"a\\u0070i_key":"\\u0061"}', 'a'],
  ['{"x":"\\"api_key\\":\\"no\\"","y":"\\\\","api_key":"a"}', 'a'],
  ['{"api_key":7,"properties":"token"}', null],
  ['{"data":{"api_key":"no"}}', null],
  [`{"api_key":"${'x'.repeat(300)}"}`, null],
  ['"api_key"', null],
  ['', null],
];

test.each(KEYS)('%s', (text, key) => {
  expect(keyOf(text)).toBe(key);
  expect(keyOf(text, 1)).toBe(key);
});

test.each([
  ['nested too deeply', '['.repeat(65), 'too_complex'],
  ['too many values', `[${'1,'.repeat(250_001)}1]`, 'too_complex'],
  ['closed by the wrong bracket', '{"a":[1}', 'not_json'],
  ['not closed', '{"a":[1', 'not_json'],
  ['a text without an end', '{"a":"b\\"', 'not_json'],
])('%s', (_name, text, problem) => {
  expect(outlineOf(text)).toEqual({ ok: false, problem });
});

test('the parts of a list are what JSON.parse finds in it, in whatever steps it is read', () => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue({ maxDepth: 4 }), { minLength: 1 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 50 }),
      fc.nat(3),
      (batch, isOuter, stepBytes, indent) => {
        const text = JSON.stringify(isOuter ? batch : { api_key: 'a', batch, sent_at: 'now' }, null, indent);
        const read = outlineOf(text, stepBytes);
        if (!read.ok) throw new Error(read.problem);
        const bytes = Buffer.from(text);
        const parts = (read.outline.members ?? []).map(({ start, end }) => bytes.toString('utf8', start, end));
        expect(parts.map((part) => JSON.parse(part) as unknown)).toEqual(JSON.parse(JSON.stringify(batch)));
        if (!isOuter) expect(read.outline.key).toBe('a');
      },
    ),
  );
});
