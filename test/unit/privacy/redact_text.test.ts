import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactText } from '#pipelines/privacy/redact_text.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { cases } from '#test/harness/environment.ts';

describe('a text', () => {
  it('loses its e-mail addresses', () =>
    checkAll(
      [
        ['jane@example.com', 'redacted'],
        ['Write to jane.doe+x@mail.example.co.uk, please', 'Write to redacted, please'],
        ['<jane@example.com>', '<redacted>'],
        ['a@b.com,c@d.org;e@f.net', 'redacted,redacted;redacted'],
        ["o'brien@example.com.", 'redacted.'],
        ['"jane doe"@example.com', 'redacted'],
        ['josé@münchen.de', 'redacted'],
        ['用户@例子.广告', 'redacted'],
        ['連絡先はjane@example.comです', '連絡先はredactedです'],
        ['jane＠example.com', 'redacted'],
        ['mailto:jane@example.com?subject=Hi', 'mailto:redacted?subject=Hi'],
        ['https://shop.example/users/jane@example.com/orders', 'https://shop.example/users/redacted/orders'],
        ['https://shop.example/users/jane%40example.com/orders', 'https://shop.example/users/redacted/orders'],
        ['https://user:pass@example.com/', 'https://redacted/'],
        ['/a?x=1&e=jane%2Bnews%40example.com&y=2#z', '/a?x=1&e=redacted&y=2#z'],
        ['/a?x=jane%2540example.com&y=2', '/a?x=redacted&y=2'],
        ['/a?x=jane%40example%2Ecom', '/a?x=redacted'],
        ['https://jane:pw@shop.example/a?b=1#c', 'https://redacted/a?b=1#c'],
        ['https://jane:p@w@localhost:8080/a', 'https://redacted:8080/a'],
        ['redis://:pw@staging:6379', 'redis://redacted@staging:6379'],
        ['"https:\\/\\/jane:pw@shop.example\\/"', '"https:\\/\\/redacted\\/"'],
        ['/r?to=https%3A%2F%2Fjane%3Apw%40shop.example%2Fa&b=1', '/r?to=https%3A%2F%2Fredacted%2Fa&b=1'],
        ['Write to jane@@shop.example, please', 'Write to redacted, please'],
        ['<p>jane<b>@</b>shop.example</p>', '<p>redacted</p>'],
        ['jane<!-- no robots -->@shop.example.', 'redacted.'],
        [
          '/r?to=https%3A%2F%2Fb.example%2F%3Fe%3Djane%40example.com%26f%3D1',
          '/r?to=https%3A%2F%2Fb.example%2F%3Fe%3Dredacted%26f%3D1',
        ],
        [
          '/r?to=https%253A%252F%252Fb.example%253Fx%253Djane%2540example.com',
          '/r?to=https%253A%252F%252Fb.example%253Fx%253Dredacted',
        ],
      ],
      ([text, clean]) => {
        expect(redactText(text)).toBe(clean);
      },
    ));

  it('loses its phone numbers', () =>
    checkAll(
      [
        ['+14155550100', 'redacted'],
        ['call +1 (415) 555-0100 now', 'call redacted now'],
        ['+44 (0)20 7946 0958', 'redacted'],
        ['＋49 151 12345678', 'redacted'],
        ['/a?p=%2B14155550100&q=1', '/a?p=redacted&q=1'],
        ['/a?p=%2B1%20415%20555%200100&q=1', '/a?p=redacted&q=1'],
        ['/a?p=%2B1+415+555+0100&q=1', '/a?p=redacted&q=1'],
        ['/a?text=hello%20%2B14155550100', '/a?text=hello%20redacted'],
        ['tel:4155550100', 'redacted'],
        ['tel:+1-415-555-0100', 'redacted'],
        ['tel://0151 12345678', 'redacted'],
        ['sms:+14155550100', 'redacted'],
        ['Tel+4915112345678', 'Telredacted'],
        ['call 00 49 151 16624565 now', 'call redacted now'],
        ['011 49 151 16624565', 'redacted'],
        ['ring plus 49 151 16624565 today', 'ring redacted today'],
        ['a;+49,151,16624565;b', 'a;redacted;b'],
        ['+49,151,16624565,20261120', 'redacted,20261120'],
        ["+49'151'16624565", 'redacted'],
        ["/a?p=%2B49'151'16624565&q=1", '/a?p=redacted&q=1'],
      ],
      ([text, clean]) => {
        expect(redactText(text)).toBe(clean);
      },
    ));

  it('loses its national phone numbers', () =>
    checkAll(
      [
        ['(650) 555-0142', 'redacted'],
        ['Call (650) 555-0142 today', 'Call redacted today'],
        ['650-555-0142', 'redacted'],
        ['650.555.0142, ask for Jo', 'redacted, ask for Jo'],
        ['650 555 0142', 'redacted'],
        ['1-650-555-0142', 'redacted'],
        ['0151 12345678', 'redacted'],
        ['020 7946 0958', 'redacted'],
        ['06 12 34 56 78', 'redacted'],
        ['0151\u030116624565', 'redacted'],
        ['a\\t0151 16624565\\nb', 'a\\tredacted\\nb'],
        ['\\r\\n650-555-0142', '\\r\\nredacted'],
        ['tel\\t6505550142', 'tel\\tredacted'],
        ['0470/12.34.56', 'redacted'],
        ['(02) 123 45 67', 'redacted'],
        ['0032 470 12 34 56', 'redacted'],
        ['03-1234-5678', 'redacted'],
        ['٠٦ ١٢ ٣٤ ٥٦ ٧٨ and 06 12 34 56 78', 'redacted and redacted'],
        ['/a?q=(650)%20555-0142&b=1', '/a?q=redacted&b=1'],
        ['/a?q=%28650%29+555-0142&b=1', '/a?q=%28650%29redacted&b=1'],
        ['/call-650-555-0142.html', '/call-redacted.html'],
        ['/a?q=650%2D555%2D0142&b=1', '/a?q=redacted&b=1'],
        ['/a?q=hello%20650-555-0142', '/a?q=hello%20redacted'],
        ['/a/650-555-0142/b', '/a/redacted/b'],
        ['call 6505550142', 'call redacted'],
        ['Phone no. 6505550142.', 'Phone no. redacted.'],
        ['whatsapp me: 0470123456', 'whatsapp me: redacted'],
        ['/a?q=call%206505550142', '/a?q=call%20redacted'],
      ],
      ([text, clean]) => {
        expect(redactText(text)).toBe(clean);
      },
    ));

  it('loses the parameters that identify a person', () =>
    checkAll(
      [
        ['/a?email=jane&b=1', '/a?email=redacted&b=1'],
        ['/a?user_email=x', '/a?user_email=redacted'],
        ['/a?user%5Bemail%5D=x&b=1', '/a?user%5Bemail%5D=redacted&b=1'],
        ['/a?user[first_name]=Jane&b=1', '/a?user[first_name]=redacted&b=1'],
        ['/a?phone=4155550100', '/a?phone=redacted'],
        ['/a#lastName=Doe&b=1', '/a#lastName=redacted&b=1'],
        ['email=jane;b=1', 'email=redacted;b=1'],
        ['/a?tel=4155550100', '/a?tel=redacted'],
        ['/a?tel=no', '/a?tel=no'],
        ['/a?email=&b=1', '/a?email=&b=1'],
        ['/r?to=%2Fx%3Fphone%3D4155550100%26b%3D1', '/r?to=%2Fx%3Fphone%3Dredacted%26b%3D1'],
      ],
      ([text, clean]) => {
        expect(redactText(text)).toBe(clean);
      },
    ));

  it('loses the JSON members that identify a person', () =>
    checkAll(
      [
        ['sent {"phone":"4155550100","a":1}', 'sent {"phone":"redacted","a":1}'],
        ['{"phone": 4155550100, "a": 1', '{"phone": 0, "a": 1'],
        ['{"first_name" : "Jane","name":"Shoe"', '{"first_name" : "redacted","name":"Shoe"'],
        ['x {"text":"{\\"lastName\\":\\"Doe\\"}"}', 'x {"text":"{\\"lastName\\":\\"redacted\\"}"}'],
        [
          '/a?d=%7B%22phone%22%3A%224155550100%22%2C%22b%22%3A1%7D&c',
          '/a?d=%7B%22phone%22%3A%22redacted%22%2C%22b%22%3A1%7D&c',
        ],
        ['/a?d=%7B%22phone%22%3A4155550100%7D', '/a?d=%7B%22phone%22%3A0%7D'],
        ['{"phones":["4155550100"]', '{"phones":["redacted"]'],
        ['{"email":"","tel":"no"}', '{"email":"","tel":"no"}'],
      ],
      ([text, clean]) => {
        expect(redactText(text)).toBe(clean);
      },
    ));

  it('is left as it is', () =>
    checkAll(
      [
        'https://shop.example/shoes?utm_source=google&utm_medium=email&gclid=abc-1&name=Runner',
        'https://cdn.example/logo@2x.png?v=3',
        'https://cdn.example/npm/jquery@3.6.0/dist/jquery.min.js',
        'https://medium.example/@jane/post',
        'https://maps.example/@40.7,-74.0,15z',
        'see you @ 8.30pm',
        '2026-11-01T10:00:00.000+01:00',
        'Sun Nov 01 2026 10:00:00 GMT+0100 (CET)',
        '+5 bonus points, +100% more',
        'q=shoes+12345678',
        '1e+10',
        'Hotel:1234567',
        'order 4155550100',
        '2026-11-20T10:00:00.123456789Z',
        '01-02-2026 10:30:15',
        '20.11.2026 10:30:15.123',
        '01/02/2026 - 03/02/2026',
        '1763632800123',
        'GA1.2.1234567890.1763632800',
        '123-4567890-1234567',
        '028-1234567-1234567',
        '550e8400-0123-4567-8901-446655440000',
        '192.168.100.200:8080',
        '1,234,567.89',
        '0.123456789',
        '(2026) 100 200',
        '978-3-16-148410-0',
        '4006381333931',
        '100%',
        '%E4%BD%A0%E5%A5%BD',
        'a@b',
        '+1,234,567 views',
        "+1'000'000 CHF",
        '+49,151,166',
        '+1,4155550100',
        '00 11 22 33 44 55',
        '10:00 49 151 16624565',
        'plus 49 Euro 151',
        'iPhone 15 Plus 128 256 512',
        'a\\t1001\\n2026-11-20',
        '@@ -1,7 +1,7 @@',
        'SELECT @@version.x',
        '<b>Live</b>@Wembley',
        '<i>by</i> @jane',
        'https://maps.example:443/@40.7,-74.0,15z',
        'https://shop.example:8443/a?b=c:d',
        '',
      ],
      (text) => {
        expect(redactText(text)).toBe(text);
      },
    ));

  it('with lone surrogates is made well-formed', () => {
    expect(redactText('a\ud800b')).toBe('a\ufffdb');
    expect(redactText('\udc00jane@example.com')).toBe('\ufffdredacted');
  });
});

describe('for an anonymous site a text', () => {
  it.each([
    ['/a?fbclid=abc&utm_source=x&gclid=def&uid=7', '/a?fbclid=redacted&utm_source=x&gclid=redacted&uid=redacted'],
    ['/a?custom_user_id=7&b=1', '/a?custom_user_id=redacted&b=1'],
    ['203.0.113.9', 'redacted'],
    ['2001:db8::1', 'redacted'],
    ['/a?b=1', '/a?b=1'],
  ])('%j loses what identifies a visitor: %j', (text, clean) => {
    expect(redactText(text, true)).toBe(clean);
  });
});

describe('redaction', () => {
  const tokens = 'a Z 9 @ . % + = & ? / " 4 0 : - é 你 , ; %40 %2B tel: @b.com email= %3D +1415 %20 %25'.split(' ');
  const noise = fc.string({ unit: fc.constantFrom(' ', ...tokens), maxLength: 20 });
  const email = fc
    .tuple(
      fc.stringMatching(/^[a-z][a-z0-9._+-]{0,10}[a-z0-9]$/),
      fc.constantFrom('@', '%40', '%2540'),
      fc.stringMatching(/^[a-z][a-z0-9-]{0,8}[a-z0-9]\.(com|de|co\.uk|io)$/),
    )
    .map((parts) => parts.join(''));
  const phone = fc.constantFrom(
    '+14155550100',
    '+1 415 555 0100',
    '+1 (415) 555-0100',
    '+442079460958',
    '%2B14155550100',
    '+1 415 555 0100 20261101',
  );

  it('loses what lets somebody in by a path or a route in the fragment, as it does in the query', () => {
    const token = 'a8F3kQ9zLm2Xc7Vb4Nn1';
    const django = `bm1wjy-${'0d2c6c9e4c5f'.repeat(3)}`;
    return checkAll(
      [
        [`https://shop.example/reset-password/${token}?x=1`, 'https://shop.example/reset-password/redacted?x=1'],
        [`https://shop.example/#/reset/${token}`, 'https://shop.example/#/reset/redacted'],
        [
          `https://shop.example/a/#!/Verify-Email/${token}/done#x`,
          'https://shop.example/a/#!/Verify-Email/redacted/done#x',
        ],
        [`https://shop.example/#token/${token}`, 'https://shop.example/#token/redacted'],
        [`/accounts/reset/MQ/${django}/`, '/accounts/reset/MQ/redacted/'],
        ['/invite/550e8400-e29b-41d4-a716-446655440000', '/invite/redacted'],
        [`https%3A%2F%2Fshop.example%2Freset%2F${token}`, 'https%3A%2F%2Fshop.example%2Freset%2Fredacted'],
        [`see https://shop.example/magic-link/${token}, once`, 'see https://shop.example/magic-link/redacted, once'],
        ['/blog/how-to-reset/reset-your-iphone-15-in-2026', '/blog/how-to-reset/reset-your-iphone-15-in-2026'],
        ['/order-confirmation/ORD2026112900012345', '/order-confirmation/ORD2026112900012345'],
        [`/products/${token}`, `/products/${token}`],
        ['/password/reset', '/password/reset'],
      ],
      ([text, clean]) => {
        expect(redactText(text)).toBe(clean);
      },
    );
  });

  it('leaves no address, whatever stands around it', () => {
    fc.assert(
      fc.property(noise, email, noise, fc.boolean(), (before, raw, after, anonymous) => {
        expect(redactText(before + raw + after, anonymous)).not.toContain(raw);
      }),
      { numRuns: cases(3000) },
    );
  });

  it('leaves no international number that ends where it ends', () => {
    fc.assert(
      fc.property(noise, phone, noise, (before, raw, after) => {
        fc.pre(!/^\d/.test(after));
        expect(redactText(before + raw + after)).not.toContain(raw);
      }),
      { numRuns: cases(3000) },
    );
  });
});
