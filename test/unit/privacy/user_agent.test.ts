import { describe, expect, it } from 'vitest';
import { cleanUserAgent } from '#pipelines/privacy/collect_identifiers.ts';
import { checkAll } from '#test/harness/check_all.ts';

describe('a user agent', () => {
  it('is stored in one form, every time', () =>
    checkAll(
      [
        ['Mozilla/5.0 (X11)', 'Mozilla/5.0 (X11)'],
        [' App/1.0\r\n', 'App/1.0'],
        ['App\u0000/1.0', 'App/1.0'],
        ['Shop (admin@shop.example)', 'Shop (redacted)'],
        ['Till +1 415 555 0100', 'Till redacted'],
        ['x'.repeat(1025), 'x'.repeat(1024)],
        ['', null],
        [' \t ', null],
      ],
      ([text, stored]) => {
        expect(cleanUserAgent(text)).toBe(stored);
        expect(cleanUserAgent(text)).toBe(stored);
      },
    ));

  it('is cleaned beyond what is cached', () => {
    for (let number = 0; number < 5000; number += 1) {
      expect(cleanUserAgent(`App/${number}`)).toBe(`App/${number}`);
      expect(cleanUserAgent(` App/${number}`)).toBe(`App/${number}`);
    }
  });
});
