import { expect, test } from 'vitest';
import { changesOver, differences, factText } from '#services/dashboard/src/editing/differences.ts';

const loaded = { name: 'Shop', country: 'AT', tags: ['a'] };

test('one keeps what one has changed, and of the rest what somebody else has made of it', () => {
  const mine = { ...loaded, name: 'Store' };
  const theirs = { name: 'Market', country: 'DE', tags: ['a', 'b'] };
  const kept = changesOver(loaded, mine, theirs);
  expect(kept).toEqual({ name: 'Store', country: 'DE', tags: ['a', 'b'] });
  expect(differences(loaded, theirs, kept)).toEqual([
    { name: 'name', was: 'Shop', theirs: 'Market', kept: 'Store' },
    { name: 'country', was: 'AT', theirs: 'DE', kept: 'DE' },
    { name: 'tags', was: ['a'], theirs: ['a', 'b'], kept: ['a', 'b'] },
  ]);
});

test('fields that somebody has added or taken out are differences as well', () => {
  const { country: _country, ...without } = loaded;
  expect(differences(loaded, { ...without, mode: 'offline' }, null)).toEqual([
    { name: 'country', was: 'AT', theirs: undefined, kept: undefined },
    { name: 'mode', was: undefined, theirs: 'offline', kept: undefined },
  ]);
  expect(changesOver<object>(loaded, without, { ...loaded, mode: 'offline' })).toEqual({ ...without, mode: 'offline' });
});

test('values are read as people write them, and long ones are cut', () => {
  const texts = [null, '', [], true, 12, ['a', 'b'], [{ id: 1 }], 'x'.repeat(500)].map(factText);
  expect(texts.slice(0, 6)).toEqual(['nothing', 'nothing', 'nothing', 'yes', '12', 'a\nb']);
  expect(texts[6]).toContain('"id": 1');
  expect(texts[7]).toBe(`${'x'.repeat(400)}…`);
});
