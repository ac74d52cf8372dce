import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { countryCode } from '#pipelines/privacy/countries.ts';
import { checkAll } from '#test/harness/check_all.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

it('a country is read in each of its forms', () =>
  checkAll(
    [
      ['us', 'us'],
      [' BE ', 'be'],
      ['UK', 'gb'],
      ['U.S.A.', 'us'],
      ['CA-ON', 'ca'],
      ['gb-eng', 'gb'],
      ['GBR', 'gb'],
      ['deu', 'de'],
      ['Deutschland', 'de'],
      ['België', 'be'],
      ['Österreich', 'at'],
      ['España', 'es'],
      ['日本', 'jp'],
      ['България', 'bg'],
      ['Russian Federation', 'ru'],
      ['Korea, Republic of', 'kr'],
      ['Bosnia and Herzegovina', 'ba'],
      ['Kosovo', 'xk'],
      [sha256('de'), 'de'],
      [sha256('us').toUpperCase(), 'us'],
    ],
    ([text, code]) => expect(countryCode(text)).toBe(code),
  ));

it('what is no country is none', () =>
  checkAll(
    [
      'XX',
      'ZZ',
      'EU',
      'en',
      'XYZ',
      'Atlantis',
      'London',
      'XX-ON',
      'constructor',
      '__proto__',
      '',
      ' ',
      '12',
      sha256('xx'),
      'a'.repeat(101),
    ],
    (text) => expect(countryCode(text)).toBeNull(),
  ));
