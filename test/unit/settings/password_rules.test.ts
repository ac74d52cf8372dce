import { expect, test } from 'vitest';
import { isAcceptable } from '#pipelines/settings/secrets.ts';
import { checkAll } from '#test/harness/check_all.ts';

test('what is easily guessed is no password', () =>
  checkAll(
    [
      ['blanks', ' '.repeat(12)],
      ['blanks of several kinds', ' \t\u00a0\u3000\u2003'.repeat(3)],
      ['what is not drawn', '\u200b\u00ad\u3164\u2800'.repeat(3)],
      ['one character', 'x'.repeat(12)],
      ['one character between blanks', 'x '.repeat(6)],
      ['one character in two spellings', '\u00e9e\u0301'.repeat(6)],
      ['one character beyond the first plane', '🔒'.repeat(12)],
      ['accents of nothing', '\u0301\u0302'.repeat(6)],
      ['two characters and ten that are not drawn', `ab${'\u200b'.repeat(10)}`],
      ['NULs', `ab${'\0'.repeat(10)}`],
      ['a long one with a NUL', 'correct horse battery\0'],
      ...[
        'password1234',
        'Password2026!',
        'qwertyuiop123',
        '123456789012',
        'iloveyou1234',
        'admin1234567',
        '1q2w3e4r5t6y',
        'Welcome12345',
      ].map((common) => ['a common one', common] as const),
      ['eleven characters', 'correct hor'],
    ],
    ([_name, password]) => {
      expect(isAcceptable(password)).toBe(false);
    },
  ));

test.each([
  'correct horse',
  `${'e\u0301'.repeat(11)}x`,
  'xxxxxxxxxxxy',
  'passwords are for sheep',
  'monkeys1234567',
  '一二三四五六七八九十百千',
])('%s is one', (password) => {
  expect(isAcceptable(password)).toBe(true);
});
