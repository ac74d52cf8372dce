import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hashExternalId, hashName, hashWholeName } from '#pipelines/privacy/hash_identifiers.ts';
import { checkAll } from '#test/harness/check_all.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('a name', () => {
  it('is hashed in both forms', () =>
    checkAll(
      [
        ['Mary', 'mary', null],
        ['  Mary Ann ', 'maryann', 'mary ann'],
        ["O'Brien", 'obrien', null],
        ['Jean-Luc', 'jeanluc', null],
        ['Dr. Who 2', 'drwho2', 'dr who'],
        ['Valéry', 'valéry', null],
        ['Şule', 'şule', null],
        ['田中', '田中', null],
        ['정 민수', '정민수', '정 민수'],
        ['Jr.', 'jr', null],
        ['R2', 'r2', 'r'],
        ['1234', '1234', null],
      ],
      ([sent, base, google]) => {
        expect(hashName(sent)).toEqual({ name: sha256(base), name_google: google === null ? null : sha256(google) });
      },
    ));

  it('has one hash however its accents are composed', () => {
    for (const name of ['Valéry', 'Şule', 'D’Ávila', 'Ångström']) {
      expect(hashName(name.normalize('NFD'))).toEqual(hashName(name.normalize('NFC')));
      expect(hashWholeName(name.normalize('NFD'))).toBe(hashWholeName(name.normalize('NFC')));
    }
  });

  it.each(['', '  ', '...', 'x'.repeat(201), createHash('md5').update('mary').digest('hex')])('%j is none', (sent) => {
    expect(hashName(sent)).toBeNull();
  });

  it('hashed by the sender passes through in lower case', () => {
    expect(hashName(sha256('mary').toUpperCase())).toEqual({ name: sha256('mary'), name_google: null });
  });
});

describe('an external id', () => {
  it.each([
    [' C-42 ', sha256('C-42')],
    ['c-42', sha256('c-42')],
    [sha256('C-42').toUpperCase(), sha256('C-42')],
    ['  ', null],
    ['x'.repeat(201), null],
  ])('%j is hashed trimmed, its case kept', (sent, hashed) => {
    expect(hashExternalId(sent)).toBe(hashed);
  });
});
