import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { cases } from '#test/harness/environment.ts';
import { browser, server, siteWith } from './context.ts';

/** Spellings of keys under which senders put the value. */
const EMAIL_KEYS = 'email e-mail Email emailAddress email_address user_email em customer.email sha256_email'.split(' ');
const PHONE_KEYS = 'phone phone_number phoneNumber Phone tel mobile msisdn userPhone contact-number'.split(' ');
const NAME_KEYS = 'first_name firstName FirstName fn given_name last_name lastName ln surname full_name'.split(' ');
const OTHER_KEYS = 'note url items user user_data customer traits $set context address order a.b value id name'.split(
  ' ',
);

const word = fc.stringMatching(/^[a-z][a-z0-9]{3,8}$/);
const email = fc
  .tuple(word, word, fc.constantFrom('com', 'co.uk', 'io'))
  .map(([local, host, end]) => `${local}@${host}.${end}`);
const phone = fc.integer({ min: 1000, max: 9999 }).map((line) => `415555${line}`);
const name = fc.stringMatching(/^Q[a-z]{5}zq$/);

interface Planted {
  email: string;
  phone: string;
  name: string;
}

/** Texts that carry the planted values as senders do. */
function texts({ email, phone }: Planted): fc.Arbitrary<string> {
  return fc.constantFrom(
    email,
    email.toUpperCase(),
    encodeURIComponent(email),
    `write to ${email}, or call +1 ${phone}!`,
    `https://shop.example/a?e=${encodeURIComponent(email)}&x=1#${email}`,
    `https://shop.example/${email}?phone=${phone}&p=%2B1${phone}`,
    `https://shop.example/r?to=${encodeURIComponent(`https://b.example/?mail=${encodeURIComponent(email)}`)}`,
    `+1${phone}`,
    `+1 (${phone.slice(0, 3)}) ${phone.slice(3, 6)}-${phone.slice(6)}`,
    `tel:${phone}`,
    JSON.stringify({ user: { email, phone } }),
    `email=${email}&tel=${phone}`,
  );
}

function properties(planted: Planted): fc.Arbitrary<Record<string, unknown>> {
  const { value } = fc.letrec((tie) => ({
    leaf: fc.oneof(texts(planted), fc.constantFrom(1, true, null, 'plain')),
    personal: fc.oneof(
      fc.tuple(fc.constantFrom(...EMAIL_KEYS), fc.constantFrom<unknown>(planted.email, [planted.email])),
      fc.tuple(
        fc.constantFrom(...PHONE_KEYS),
        fc.constantFrom<unknown>(planted.phone, Number(planted.phone), `+1${planted.phone}`, [planted.phone]),
      ),
      fc.tuple(fc.constantFrom(...NAME_KEYS), fc.constantFrom<unknown>(planted.name, [planted.name])),
      fc.tuple(texts(planted), fc.constant<unknown>(1)),
    ),
    member: fc.oneof(tie('personal'), fc.tuple(fc.constantFrom(...OTHER_KEYS), tie('value'))),
    object: fc
      .array(tie('member'), { maxLength: 5 })
      .map((members) => Object.fromEntries(members as [string, unknown][])),
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      tie('leaf'),
      tie('object'),
      fc.array(tie('value'), { maxLength: 3 }),
    ),
  }));
  return fc
    .array(fc.tuple(fc.constantFrom(...OTHER_KEYS), value), { minLength: 1, maxLength: 6 })
    .map((members) => Object.fromEntries(members));
}

const sent = fc
  .record({ email, phone, name })
  .chain((planted) =>
    fc.tuple(fc.constant(planted), properties(planted), texts(planted), texts(planted), texts(planted)),
  );

function residue(text: string, planted: Planted): string[] {
  const squashed = text.toLowerCase();
  const digits = text.replaceAll(/[^0-9]/g, ' ').replaceAll(/ +/g, ' ');
  const forms = [
    planted.email,
    encodeURIComponent(planted.email),
    encodeURIComponent(encodeURIComponent(planted.email)),
    planted.name,
  ];
  const found = forms.filter((form) => squashed.includes(form.toLowerCase()));
  const { phone: number } = planted;
  const numbers = [number, `${number.slice(0, 3)} ${number.slice(3, 6)} ${number.slice(6)}`];
  return [...found, ...numbers.filter((form) => digits.includes(form))];
}

describe('no raw e-mail address, phone number or name survives', () => {
  it.each([
    ['a browser', browser()],
    ['a server', server()],
    ['an offline-mode site', browser({ site: siteWith({ mode: 'offline' }) })],
  ])('in anything taken from %s', (_case, context) => {
    fc.assert(
      fc.property(sent, ([planted, given, uuid, distinct_id, event]) => {
        const fields = { uuid: uuid.slice(0, 200), distinct_id: distinct_id.slice(0, 200), event: event.slice(0, 200) };
        const batch = processBatch([{ ...fields, properties: { ...given, order_id: uuid } }], context);
        expect(batch.taken).toHaveLength(1);
        expect(residue(JSON.stringify(batch), planted)).toEqual([]);
      }),
      { numRuns: cases(1500) },
    );
  });

  it('in rejections', () => {
    const planted = { email: 'jane@example.com', phone: '4155550100', name: 'Qwertyzq' };
    const bad = [
      { event: 'e', timestamp: planted.email },
      { event: 'e', properties: { $action_source: planted.email } },
      { event: 'e', distinct_id: [planted.phone] },
      { event: `${planted.name}\u0000` },
      planted.email,
    ];
    const batch = processBatch(bad, browser());
    expect(batch.rejected).toHaveLength(bad.length);
    expect(residue(JSON.stringify(batch), planted)).toEqual([]);
  });
});
