import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { deviceName, peopleQuestion, searchInAddress } from '#services/dashboard/src/pages/people/people.ts';
import { idNamed } from '#services/dashboard/src/questions/saved.ts';

const NOW = Date.UTC(2026, 10, 24);
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

test('an address is asked for by its hash alone, normalised', async () => {
  const question = await peopleQuestion('  Ada@Example.COM ', NOW);
  expect(question?.filters).toEqual([
    { any: [{ field: { column: 'email_sha256' }, is: 'equal', to: [sha256('ada@example.com')] }] },
  ]);
  expect(JSON.stringify(question).toLowerCase()).not.toContain('ada@');
});

test('a phone number with its plus is asked for by its hash alone, however it is grouped', async () => {
  const question = await peopleQuestion(' +1 (650) 555-0142 ', NOW);
  expect(question?.filters).toEqual([
    { any: [{ field: { column: 'phone_hmac' }, is: 'equal', to: [sha256('+16505550142')] }] },
  ]);
  expect(await searchInAddress('+1 (650) 555-0142')).toBe(sha256('+16505550142'));
});

test('anything else is an id, and perhaps a hash', async () => {
  const columns = async (text: string): Promise<string[]> => {
    const { filters = [] } = (await peopleQuestion(text, NOW)) ?? {};
    const [group] = filters as { any: { field: { column: string } }[] }[];
    return group?.any.map(({ field }) => field.column) ?? [];
  };
  expect(await columns('did_1')).toEqual(['person_id', 'distinct_id', 'order_id', 'external_id_sha256']);
  expect(await columns('A'.repeat(64))).toEqual([
    ...['person_id', 'distinct_id', 'order_id', 'email_sha256', 'phone_hmac'],
    ...['external_id_sha256', 'external_id_sha256'],
  ]);
  expect(await columns('A_b-'.repeat(8))).toContain('phone_hmac');
});

test('a user agent is named in two words', () => {
  expect(
    deviceName('Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) Version/18.6 Mobile/15E148 Safari/604.1'),
  ).toBe('Safari on iPhone');
  expect(deviceName('Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36 Edg/142.0')).toBe(
    'Edge on Windows',
  );
  expect(deviceName('till/3')).toBe('till/3');
  expect(deviceName('')).toBe('No browser');
});

test('the id of a saved item says what its name does, and is nobody else’s', () => {
  expect(idNamed('Köpte på Måndag!', [])).toBe('kopte-pa-mandag');
  expect(idNamed('A b', ['a-b', 'a-b-2'])).toBe('a-b-3');
  expect(idNamed('日本', [])).toBe('item');
  expect(idNamed('x'.repeat(90), [])).toHaveLength(60);
});
