import { expect, test } from 'vitest';
import type { Filter } from '#pipelines/analytics/filters.ts';
import { withPhoneHmacs } from '#pipelines/analytics/query_rewrites.ts';

const SHA256 = '0A'.repeat(32);
const hmacsOf = (sha256: string): string[] => [`new ${sha256}`, `old ${sha256}`];
const KEYED = hmacsOf(SHA256.toLowerCase());
const phone = { column: 'phone_hmac' } as const;

const FILTERS: [what: string, filter: Filter, expected: Filter][] = [
  [
    'the hash of a number, beside a keyed hash',
    { field: phone, is: 'equal', to: [SHA256, 'AbC'] },
    { field: phone, is: 'equal', to: [...KEYED, 'AbC'] },
  ],
  ['not the number', { field: phone, is: 'not_equal', to: [SHA256] }, { field: phone, is: 'not_equal', to: KEYED }],
  [
    'the number that a person had last, in groups',
    { all: [{ any: [{ field: { person: phone, seen: 'last' }, is: 'equal', to: [SHA256] }] }] },
    { all: [{ any: [{ field: { person: phone, seen: 'last' }, is: 'equal', to: KEYED }] }] },
  ],
  ['any number', { field: phone, is: 'set' }, { field: phone, is: 'set' }],
  ['a part of one', { field: phone, is: 'containing', to: SHA256 }, { field: phone, is: 'containing', to: SHA256 }],
  [
    'the hash of an e-mail address',
    { field: { column: 'email_sha256' }, is: 'equal', to: [SHA256] },
    { field: { column: 'email_sha256' }, is: 'equal', to: [SHA256] },
  ],
];

test.for(FILTERS)('a query for %s', ([, filter, expected]) => {
  const query = (one: Filter) => ({ from: 1, steps: [{ events: ['a'], filters: [one] }], filters: [one] });
  expect(withPhoneHmacs(query(filter), hmacsOf)).toEqual(query(expected));
});
