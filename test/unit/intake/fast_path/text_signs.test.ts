import { expect, test } from 'vitest';
import { endOfText, textsOf, wasPlain } from '#pipelines/intake/fast_path/text_signs.ts';
import { SECRET_MARK, SECRET_PATH_GAP_MAX, SECRET_PATH_WORD, scanText } from '#pipelines/privacy/normalise_text.ts';
import { isUuidText } from '#pipelines/privacy/redact_secrets.ts';
import { LOOK_ALIKES, TEXT_CANARIES } from '#test/harness/canaries/canaries.ts';

/** Whether a text is plain by its bytes; null where it is not one that ends. */
function isPlain(text: string): boolean | null {
  const bytes = Buffer.from(`"${text}"`);
  return endOfText(bytes, 1) === bytes.length - 1 ? wasPlain() : null;
}

const MARKED = textsOf(SECRET_MARK.source);

test('what begins a secret is seen wherever it stands in a text that is long enough', () => {
  expect(MARKED.length).toBeGreaterThan(150);
  for (const mark of MARKED) {
    expect(SECRET_MARK.test(mark), mark).toBe(true);
    for (const text of [`${mark}xxxxxxxxxxxxxxxxxx`, `xxxxxxxxxxxxxxxxxx${mark}`, `xxxxxxxxx${mark}xxxxxxxxx`]) {
      expect(isPlain(text), text).toBe(false);
    }
  }
});

test('so is what a path holds before a secret, with as much behind it as there may be', () => {
  for (const word of textsOf(SECRET_PATH_WORD.source)) {
    for (const written of [word, word.toUpperCase()]) {
      for (const gap of ['', 'xx', 'x'.repeat(SECRET_PATH_GAP_MAX)]) {
        for (const text of [`${written}${gap}/xxxxxxxxxxxxxxxxxx`, `https://x.example/xx/${written}${gap}/x`]) {
          expect(scanText(text), text).not.toBe(0);
          expect(isPlain(text), text).toBe(false);
        }
      }
    }
  }
});

test('a text that is plain by its bytes holds nothing to look at', () => {
  const texts = [...TEXT_CANARIES, ...LOOK_ALIKES].map(({ text }) => text);
  const others = ['password: tulip', 'ftp://shop.example, pwd: tulip', '019a6a5d-ac96-974b-8cce-b302099a8057'];
  for (const text of [...texts, ...others, '019a6a5d-ac96-474b-ccce-b302099a8057', 'x:', '555 01 42']) {
    if (isPlain(text) === true) expect(scanText(text) === 0 || isUuidText(text), text).toBe(true);
  }
});

test('usual texts are plain', () => {
  const texts = [
    'Jacket, blue (new)',
    '/jackets/tokens-and-keys',
    'https://search.example/results',
    '019A6A5D-ac96-474b-8cce-b302099a8057',
    '',
  ];
  expect(texts.map(isPlain)).toEqual([true, true, true, true, true]);
});

test('texts with escapes or control characters, and those that do not end, are not read', () => {
  for (const text of ['a\\u0040b', 'a\nb', 'a\x7fb', '\\"']) expect(isPlain(text), text).toBeNull();
  expect(endOfText(Buffer.from('"abc'), 1)).toBe(-1);
});

test('an expression of something else than literals, classes and choices is refused', () => {
  expect(textsOf('a(?:b|[cd])e|f')).toEqual(['abe', 'ace', 'ade', 'f']);
  for (const source of ['a+', 'a*', '[^a]', 'a{2}', '^a']) expect(() => textsOf(source)).toThrow();
});
