import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isSelector } from '#pipelines/engage/definition_problems.ts';
import { checkAll } from '#test/harness/check_all.ts';

it('these texts are selectors', () =>
  checkAll(
    [
      '#quote-form',
      '.a.b > li + li ~ p  span',
      'button[type="submit"]:not(.off, [disabled])',
      "a[href^='/x' i], input[name=email]",
      'tr:nth-child(2n + 1) td:nth-of-type(odd)',
      'li:nth-child(2n + 1 of .x, .y)',
      'form:has(> input:checked)',
      '*',
      ' .padded ',
      '.größe #\\31 23',
      'x-card:is(h1, h2):hover',
      'p:lang(de)',
    ],
    (text) => {
      expect(isSelector(text)).toBe(true);
    },
  ));

it('these texts are no selectors', () =>
  checkAll(
    [
      '',
      ' ',
      'button[',
      ']',
      '((',
      '[[',
      ':nope',
      'a:contains(Quote)',
      'a,',
      ',a',
      '> a',
      'a >',
      'a > > b',
      '#1',
      '.',
      'a..b',
      'a:not()',
      'a:not(.b',
      'p::before',
      'a{color:red}',
      '<a>',
      'a[b="c]',
      'tr:nth-child(x)',
      'tr:nth-child(2n of )',
      'tr:nth-of-type(2n of .x)',
      `${':not('.repeat(100)}a${')'.repeat(100)}`,
    ],
    (text) => {
      expect(isSelector(text)).toBe(false);
    },
  ));

it('says so of any text', () => {
  const parts = fc.constantFrom(
    'a',
    '.',
    '#',
    '[',
    ']',
    '(',
    ')',
    ':',
    ':not(',
    '"',
    '\\',
    ' ',
    '>',
    ',',
    '-',
    '1',
    'n',
  );
  fc.assert(fc.property(fc.array(parts, { maxLength: 200 }), (some) => typeof isSelector(some.join('')) === 'boolean'));
});
