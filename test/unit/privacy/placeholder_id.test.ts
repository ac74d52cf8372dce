import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { isCookielessId, isNobodysId, isPlaceholderHash, isPlaceholderId } from '#pipelines/privacy/placeholder_ids.ts';
import { checkAll } from '#test/harness/check_all.ts';

/** As PostHog's documents and its pull requests 12010 and 17325 list them. */
const POSTHOGS =
  'anonymous|guest|distinctid|distinct_id|id|not_authenticated|email|undefined|true|false|[object Object]|NaN|None|none|null|0|"null"|"0"|"undefined"|\'null\''.split(
    '|',
  );
const OTHERS = [
  ...['undefined\u0000', '\u0007null\u001f', '\u0000', '00000000-0000-0000-0000-000000000000\u0000', 'un\ndefined'],
  ...[' undefined ', 'Undefined', 'UNDEFINED', '`undefined`', '%22undefined%22', '"\\"null\\""', '<null>', '(none)'],
  ...['nil', 'N/A', 'n/a', '-', '--', '-1', '"-1"', '0.0', '000', '?', '.', '[]', '{}', '""', "''"],
  ...['not set', '(not set)', 'not_set', 'not-set', 'NotSet', 'unknown', 'Unknown', 'unset', 'missing', 'empty'],
  ...['[object Undefined]', '[object Promise]', '[object%20Object]', '%5Bobject%20Object%5D'],
  ...['AnonymousUser', 'anonymous user', 'Guest User', 'unauthenticated', 'not logged in', 'logged out'],
  ...['user_id', 'customerId', 'client_id', 'external-id', 'visitorId'],
  ...['00000000-0000-0000-0000-000000000000', '{00000000-0000-0000-0000-000000000000}', '0'.repeat(32)],
  ...['{{ user.id }}', '{{customer_id}}', '{% raw %}', `$${'{userId}'}`, '<%= user.id %>', '%%USER_ID%%', '*|EMAIL|*'],
];
/** What was put together of something that was not there, or was to be filled in. */
const UNFILLED = [
  ...['undefined.undefined', 'NaN.NaN', 'null.null', 'user_undefined', 'purchase-undefined', 'order_null', 'order-NaN'],
  ...[
    'ORDER-UNDEFINED',
    'team-null-1001',
    'undefined-1',
    'order-None',
    'order-nan',
    'user:nil',
    'order-<nil>',
    'order#null',
  ],
  ...[
    'purchase-[object Object]',
    '[object Object]-7',
    'order-{{order.id}}',
    'purchase-%ORDER_ID%',
    '%USER_ID%',
    '%user id%',
  ],
  ...[
    '{{dlv - user id 2}}',
    '*|MERGE1|*',
    '{order_id}',
    '__CLICKID__',
    '#N/A',
    'order-#N/A',
    '#REF!',
    '\\N',
    'purchase-',
  ],
  ...[
    'CLIENT_ID(cid-scope-cookie-fallback-name)',
    'function () { [native code] }',
    '() => id',
    '4.91512E+11',
    '4,9E+11',
  ],
  ...[
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
    '{FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF}',
  ],
  ...[
    '11111111-1111-1111-1111-111111111111',
    'f'.repeat(32),
    'xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx',
    'XXXX',
    'order_id',
  ],
  ...['https://shop.example/orders/undefined?step=confirmation&from=basket-of-the-week', '550e8400-e29b-undefined'],
  ...['test@test.com', 'Undefined@shop.example', '+10000000000', '+1 111 111 1111'],
];
const hashOf = (algorithm: string, text: string): string => createHash(algorithm).update(text).digest('hex');
const HASHED = [
  ...['', 'undefined', 'null', 'NULL', 'None', 'none', 'NaN', '[object Object]', '0', '-1', 'guest', 'anonymous'],
  ...['Unknown', 'N/A', '00000000-0000-0000-0000-000000000000'],
];
/** Ids that look like placeholders and are somebody's. */
const REAL = [
  ...['1', '10', '100', '-12', '0a', '00000000-0000-0000-0000-000000000001', 'u0', 'id1', 'id-0', 'guest-4711', '007'],
  ...['nullable', 'nan.smith', 'Nanette', 'trueman', 'falsetto', 'emailer', 'anonymous_7', 'a', 'x-'],
  ...['customer 0 one', 'unknown soldier', 'nilsson', 'user', 'test', 'e@x', 'true north', 'None Such', 'Ö', '空'],
  ...['550e8400-e29b-41d4-a716-446655440000', 'anon_abcdefghijklmnopqrstuvwxyz', 'GA1.1.123.456', '%41', '{{a'],
  ...[
    'team-na-1001',
    'jane.nan',
    'Jane-Null',
    'undefined-550e8400-e29b-41d4-a716-446655440000',
    'order-null-1794300000123',
  ],
  ...[
    'nullify-1',
    'x_nullable',
    'undefinedness',
    'none-such',
    'order-none-such',
    '1e10',
    '5E3',
    'a%b',
    'fade-cafe',
    'deadbeef',
  ],
  ...[
    '11111111',
    '1111111111',
    '00000000-0000-0000-0000-0000000000ff',
    '{550e8400}',
    'AB(12)',
    'RE(2024)',
    '#1001',
    '__a__',
  ],
  ...[
    'fb.1.1732700000000.1234567890',
    '1234567890.1732700000',
    '+16505551212',
    'jane@none.example',
    'user-1',
    'PO_NUM-7',
  ],
  ...[hashOf('sha256', 'jane@example.com'), hashOf('md5', 'jane'), 'undefined'.repeat(8)],
];

test('what stands for nobody is a placeholder, however it is written', () =>
  checkAll([...POSTHOGS, ...OTHERS, ...UNFILLED], (text) => {
    expect(isPlaceholderId(text)).toBe(true);
    expect(isNobodysId(text)).toBe(true);
  }));

test('so it is when it was hashed', () =>
  checkAll(HASHED, (text) => {
    for (const hashed of [hashOf('sha256', text), hashOf('md5', text).toUpperCase(), ` ${hashOf('sha256', text)} `]) {
      expect(isPlaceholderHash(hashed)).toBe(true);
      expect(isPlaceholderId(hashed)).toBe(true);
    }
  }));

test('an id of somebody is none', () =>
  checkAll(REAL, (text) => {
    expect(isNobodysId(text)).toBe(false);
  }));

test("PostHog's word for a visitor without an id is nobody's, and no placeholder", () => {
  expect([isNobodysId, isCookielessId, isPlaceholderId].map((is) => is('$posthog_cookieless'))).toEqual([
    true,
    true,
    false,
  ]);
});
