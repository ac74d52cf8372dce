import { expect, test } from 'vitest';
import { answerExcerpt } from '#pipelines/delivery/exchange.ts';

const answered = (body: string, status = 400) => ({ kind: 'answered' as const, status, headers: {}, body });
const excerptOf = (body: string, secrets: string[] = []) => answerExcerpt(answered(body), secrets, ['BE'])?.body;

test('what a platform says is kept with its status, on one line', () => {
  const body = '{"error": {\n  "message": "Invalid parameter",\t"code": 100, "fbtrace_id": "AbC123xyz_-9"}}';
  expect(answerExcerpt(answered(body, 422), [], [])).toEqual({
    status: 422,
    body: '{"error": { "message": "Invalid parameter", "code": 100, "fbtrace_id": "AbC123xyz_-9"}}',
  });
});

test('where there was no answer, none is kept', () => {
  expect(answerExcerpt({ kind: 'no_answer', reason: 'timeout' }, [], [])).toBeNull();
});

test.for([
  ['an e-mail address', 'no customer jane.doe@shop.example here', 'jane.doe'],
  ['a phone number', 'no customer +32 470 12 34 56 here', '470'],
  ['a phone number of the country', 'no customer 0470 12 34 56 here', '0470'],
  ['a digest', `em ${'0a1b2c3d'.repeat(8)} is malformed`, '0a1b2c3d'],
  ['an IPv4 address', 'client 203.0.113.9 is blocked', '203.0'],
  ['an IPv6 address', 'client 2001:db8::8a2e:370:7334 is blocked', '2001'],
  ['a short IPv6 address', 'client 2001:db8::7 is blocked', '2001'],
  ['an IPv4 address in IPv6', 'client ::ffff:203.0.113.9 is blocked', '113'],
  ['a long token', `Malformed access token EAAB${'x1Y2'.repeat(20)}`, 'EAAB'],
] as const)('%s is not kept', ([, body, piece]) => {
  expect(body).toContain(piece);
  expect(excerptOf(body)).not.toContain(piece);
});

test('a secret of the site is not kept, wherever it stands', () => {
  const secret = 'short-secret';
  expect(excerptOf(`key ${secret} is refused`, [secret])).toBe('key *** is refused');
  // One that would be cut in two where the text is cut.
  expect(excerptOf(`${'a '.repeat(508)}${secret}`, [secret])).not.toContain('short');
});

test.for([
  ['JSON', (secret: string) => JSON.stringify(secret)],
  ['JSON of PHP', (secret: string) => JSON.stringify(secret).replaceAll('/', '\\/')],
  ['a URL', (secret: string) => `https://platform.example/?key=${encodeURIComponent(secret)}`],
] as const)('a secret of the site is not kept as %s has it', ([, written]) => {
  const secret = 'top/sec"ret+9';
  expect(excerptOf(`refused: ${written(secret)}`, [secret])).not.toMatch(/top|ret/);
});

test('of an address that stands where the text is cut no half is kept', () => {
  const long = 'somebody.with.a.long.name.indeed@a-long-name-of-a-shop.example\n';
  for (let spaces = 0; spaces < 64; spaces += 1) {
    expect(
      excerptOf(`${long.repeat(15)}${' '.repeat(spaces)}other.person@shop.example${' no'.repeat(90)}`),
    ).not.toContain('other');
  }
});

test('a time of day is no address', () => {
  expect(excerptOf('down until 12:30:05, said the queue')).toBe('down until 12:30:05, said the queue');
});

test('an answer of any length is cut, between its characters', () => {
  const kept = excerptOf(`${'ab '.repeat(85)}\u{1F600}${'cd '.repeat(50_000)}`) ?? '';
  expect(kept).toHaveLength(256);
  expect(kept.isWellFormed()).toBe(true);
});
