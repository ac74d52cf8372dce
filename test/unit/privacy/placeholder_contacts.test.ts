import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { hashEmail } from '#pipelines/privacy/hash_identifiers.ts';
import { isPlaceholderAddress, isPlaceholderContactHash } from '#pipelines/privacy/placeholder_ids.ts';
import { checkAll } from '#test/harness/check_all.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const NOBODYS = [
  ...['undefined@undefined.com', 'null@null.com', 'none@none.com', 'noemail@noemail.com', 'no-email@shop.example'],
  ...['test@test.com', 'test@example.com', 'test@gmail.com', 'guest@guest.com', 'guest@shop.example', 'na@na.na'],
  ...[
    'noreply@shop.example',
    'no-reply+7@shop.example',
    'a@a.com',
    'aaa@aaa.com',
    'xx@xx.xx',
    '123@123.com',
    'user@mail.com',
  ],
  ...['keine@email.de', 'anonymous@shop.example', 'abc@abc.com'],
];
const SOMEBODYS = [
  ...[
    'jane@example.com',
    'jane@jane.example',
    'test@shop.example',
    'na@company.example',
    'nan@company.example',
    'null.jane@x.example',
  ],
  ...[
    'tester.jane@gmail.com',
    'info@info.example',
    'bob@none.com',
    'ann@test.com',
    'aab@aab.com',
    'a@a.example',
    'noemi@mail.com',
  ],
];

test('an address that is filled in where none is known is none', () =>
  checkAll(NOBODYS, (address) => {
    expect(isPlaceholderAddress(address)).toBe(true);
    expect([hashEmail(address), hashEmail(` ${address.toUpperCase()} `)]).toEqual([null, null]);
  }));

test('an address of somebody stays one', () =>
  checkAll(SOMEBODYS, (address) => expect(hashEmail(address)).not.toBeNull()));

test('so they are as hashes', async () => {
  const nobodys = ['undefined@undefined.com', 'noemail@noemail.com', 'test@test.com', 'na@na.na', '+1', '+49', '+420'];
  const numbers = ['+10000000000', '0000000000', '9999999999', '+1234567890', '1234567890', '11111111111'];
  await checkAll([...nobodys, ...numbers], (text) =>
    expect(isPlaceholderContactHash(sha256(text).toUpperCase())).toBe(true),
  );
  await checkAll([...SOMEBODYS, '+4915157829304', '49'], (text) =>
    expect(isPlaceholderContactHash(sha256(text))).toBe(false),
  );
});
