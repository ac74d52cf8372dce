import { describe, expect, it } from 'vitest';
import { holdsGroupedCard, redactCards } from '#pipelines/privacy/redact_secrets.ts';
import { checkAll } from '#test/harness/check_all.ts';

describe('a card number', () => {
  it.each(['4111111111111111', '4111 1111 1111 1111', '5500-0000-0000-0004', '340000000000009', '2223000048400011'])(
    '%s goes',
    (card) => {
      expect(redactCards(`card ${card}, please`)).toBe('card redacted, please');
    },
  );

  it('in a text goes, and what stands beside it stays', () =>
    checkAll(
      [
        ['4111 1111 1111 1111 12/27', 'redacted 12/27'],
        ['4111111111111111 123', 'redacted 123'],
        ['12 4111 1111 1111 1111', '12 redacted'],
        ['4111 1111 1111 1111 5500 0000 0000 0004', 'redacted redacted'],
        ['4111 - 1111 - 1111 - 1111', 'redacted'],
        ['4111.1111.1111.1111', 'redacted'],
        ['４１１１１１１１１１１１１１１１', 'redacted'],
        ['https://a.example/?q=4111%201111%201111%201111&b=1', 'https://a.example/?q=redacted&b=1'],
        ['https://a.example/?q=card+4111+1111+1111+1111', 'https://a.example/?q=card+redacted'],
        ['https://a.example/?q=card%204111111111111111', 'https://a.example/?q=card%20redacted'],
        ['4111111111111111, 3 of them', 'redacted, 3 of them'],
      ],
      ([text, clean]) => expect(redactCards(text)).toBe(clean),
    ));

  it('of every brand goes', () =>
    checkAll(
      [
        ['Mastercard', '2720990000000007'],
        ['Maestro', '6304000000000000'],
        ['Mir', '2200000000000004'],
        ['Diners Club', '36006666333344'],
        ['JCB', '3528000700000000'],
        ['Visa of 13 digits', '4222222222222'],
      ],
      ([_issuer, card]) => expect(redactCards(card)).toBe('redacted'),
    ));

  it('is none by its check digit alone: of 1,000 ids as Meta’s campaigns have them each stays', () => {
    const ids = Array.from({ length: 1_000 }, (_, at) => `2385${(7_919 * at).toString().padStart(13, '0')}`);
    expect(ids.filter((id) => redactCards(id) !== id)).toEqual([]);
  });

  it('in groups is no id, alone it may be one', () => {
    expect(holdsGroupedCard('4111 1111 1111 1111')).toBe(true);
    expect(holdsGroupedCard('u-4111-1111-1111-1111')).toBe(true);
    expect(holdsGroupedCard('４１１１－１１１１－１１１１－１１１１')).toBe(true);
    expect(holdsGroupedCard('my card is 4111111111111111 thanks')).toBe(true);
    expect(holdsGroupedCard('4111111111111111')).toBe(false);
    expect(holdsGroupedCard(' 4111111111111111 ')).toBe(false);
    expect(holdsGroupedCard('u-4111111111111111')).toBe(false);
    expect(holdsGroupedCard('0192f6a1-5f0e-7c33-9a51-5b0c6a2f7d10')).toBe(false);
  });

  it('goes with what belongs to it', () =>
    checkAll(
      [
        ['line breaks', '4539\n5780\n1234\n5671'],
        ['CRLF', '4539\r\n5780\r\n1234\r\n5671'],
        ['many spaces', '4539    5780       1234     5671'],
        ['commas', '4539, 5780, 1234, 5671'],
        ['zeros before it', '004539578012345671'],
        ['zeros before its groups', '004539 5780 1234 5671'],
        ['several signs', '4539-5780 1234.5671'],
        ['brackets', '(4539)(5780)(1234)(5671)'],
        ['tags', '4539<br>5780<br />1234</p><p>5671'],
        ['line breaks written out', String.raw`4539\n5780\r\n1234\n5671`],
        ['NUL', '4539\u00005780\u00001234\u00005671'],
        ['halves', '45395780 / 12345671'],
        ['six and five', '3700/000000/00002'],
        ..."[];:*|#=~'\\→_,./•·"
          .split('')
          .map((sign): [string, string] => [sign, ['4539', '5780', '1234', '5671'].join(sign)]),
      ],
      ([_how, card]) => {
        expect(redactCards(`pay ${card} please`).replaceAll(/[()]/g, '')).toBe('pay redacted please');
        expect(holdsGroupedCard(`u${card}`)).toBe(!card.startsWith('00') || card.includes(' '));
      },
    ));

  it.each([
    ['https://a.example/?q=4539%C2%AD5780%C2%AD1234%C2%AD5671', 'https://a.example/?q=redacted'],
    ['https://a.example/?q=4539%0A5780%0A1234%0A5671&b=1', 'https://a.example/?q=redacted&b=1'],
    ['https://a.example/?q=%EF%BC%94539578012345671', 'https://a.example/?q=redacted'],
    ['Nr.4539578012345671', 'Nr.redacted'],
    ['3,4539578012345671,12/27', '3,redacted,12/27'],
  ])('in %j goes however it is written', (text, clean) => expect(redactCards(text)).toBe(clean));

  it('is not what other numbers hold', () =>
    checkAll(
      [
        '4539, 5780 and 1234, 5671',
        '4.5, 3.9, 57.8, 0.1, 2.3, 4.5, 6.7, 1.0',
        '48.2081743, 16.3738189',
        '45395780%12345671',
        '_ga=GA1.2.1234567890.1700000000; _fbp=fb.1.1700000000000.4123456789',
        'rgb(45, 39, 57), rgb(80, 12, 34), rgb(56, 71, 0)',
      ],
      (text) => expect(redactCards(text)).toBe(text),
    ));

  it('is none with a wrong check digit, brand or length', () =>
    checkAll(
      [
        '4111111111111112',
        '9111111111111111',
        '123456789012',
        '12345678901234567890',
        '0.4111111111111111',
        '4111111111111111.5',
      ],
      (text) => {
        expect(redactCards(text)).toBe(text);
      },
    ));
});
