import fc from 'fast-check';
import { describe, it } from 'vitest';
import { redactText } from '#pipelines/privacy/redact_text.ts';
import { expectLinear, type Hostile } from './linear.ts';

describe('redaction', () => {
  const joints = ['00 ', ..."@@ <b> </b> <!-- --> :// :pw@ plus \\t +49, ' ` \u0301".split(' ')];
  const tokens = 'a Z 9 @ . % + = & ? / " 4 0 : - é 你 , ; %40 %2B tel: @b.com email= %3D +1415 %20 %25'.split(' ');

  const redact = (text: string): unknown => redactText(text, true, ['US', 'ES', 'DK']);

  it.each<[string, Hostile]>([
    ['a run of letters', ['', 'a', '@example.com']],
    ['at signs', ['', 'a@', '']],
    ['at signs with domains', ['', 'a@b.', '']],
    ['encoded percent signs', ['', '%25', '']],
    ['encoded at signs', ['', '%2540', '']],
    ['plus signs', ['', '+1', '']],
    ['unanswered questions', ['', 'tel=', '']],
    ['parameters', ['', 'email=', '']],
    ['brackets', ['', '(65', '']],
    ['groups', ['', '01 23 ', '']],
    ['trunk prefixes', ['', '0', '']],
    ['bare numbers', ['', 'call 123456789 ', '']],
    ['spaces', ['0151', ' ', '1']],
    ['digits', ['+', '1', '']],
    ['quotes', ['', '"@a.com', '']],
    ['members', ['', '"tel":"', '']],
    ['members of Python', ['', "'tel':'", '']],
    ['members of JavaScript', ['', "{tel:'", '']],
    ['bare names', ['{', 'a', ":'"]],
    ['commas and blanks', ['', ',       ', ":'"]],
    ['backslashes before quotes', ['{tel:', '\\\\', "'"]],
    ['encoded members', ['', '%22tel%22%3A%22', '']],
    ['backslashes', ['', '\\\\', '"']],
    ['names', ['"', 'a', '":"']],
    ['dots', ['a@', '1.', '']],
    ['users at hosts', ['', 'aa@bb ', '']],
    ['comments', ['', ')@x.com', '']],
    ['address literals', ['', 'a@[1:', '']],
    ['character references', ['', '&#64;', '']],
    ['references of references', ['', '&amp;', '#64;']],
    ['escapes of JavaScript', ['', '\\u0040', '']],
    ['escapes in many rounds', ['%', '25', '40']],
    ['escapes of what shows nothing', ['', '%E2%80%8B', '']],
    ['broken escapes', ['', '%E2%', '']],
    ['what shows nothing', ['', 'a\u200b@\u00ad', '']],
    ['marks on letters', ['a', '\u0301', '']],
    ['foreign digits', ['', '٠١٢٣ ', '']],
    ['fullwidth digits', ['', '０１５１　', '']],
    ['numbers of a country', ['', '612 345 678 x ', '']],
    ['digits of a country', ['', '12 34 ', '']],
    ['bank accounts', ['', 'DE89 3704 0044 ', '']],
    ['bank accounts side by side', ['', 'DE89', '']],
    ['beginnings of tokens', ['', 'eyJaaaaaaaa', '']],
    ['tokens', ['', 'eyJaaaaaaaa.', '']],
    ['beginnings of keys', ['', 'sk-ant-', '']],
    ['private keys without end', ['', '-----BEGIN PRIVATE KEY-----', '']],
    ['bearers', ['', 'Bearer a', '']],
    ['cards', ['', '4111 ', '']],
    ['cards in members', ['', '"id":"4111111111111111",', '']],
    ['articles', ['"content_ids":[', '"0012345678905",', '']],
    ['parcels', ['', '9400 1000 ', '']],
    ['letters of a bank account', ['DE89', ' ABCD', '']],
    ['double zeros', ['', '004912345678 ', '']],
    ['links', ['', 'wa.me/tel:sms://', '']],
    ['words before numbers', ['', 'call no no no ', '1234567']],
    ['a word without end', ['', 't', ' 1234567']],
    ['doubled at signs', ['', 'a@@b.', '']],
    ['nothing but at signs', ['a', '@', 'b.com']],
    ['tags before at signs', ['', 'a<b></b><b></b>@', '']],
    ['tags behind at signs', ['', 'a@<b></b><b>', '']],
    ['tags that do not end', ['', 'a@<b<b<b<b', '']],
    ['brackets before an at sign', ['', 'a<a>>>>@b.', '']],
    ['comments', ['', 'a<!-- -->@<!-- -->b.', '']],
    ['beginnings of URLs', ['', 'https://a:b', '']],
    ['colons and slashes', ['', '://', '']],
    ['slashes behind a colon', [':', '\\', '']],
    ['a user without end', ['https://', 'a', ':@']],
    ['a password without end', ['https://a:', '@', '']],
    ['encoded users', ['', '%3A%2F%2Fa%3Ab%40', '']],
    ['spelled pluses', ['', 'plus 49 151 ', '']],
    ['spelled double zeros', ['', '00 49 151 ', '']],
    ['double zeros without end', ['', '00 ', '']],
    ['commas behind pluses', ['', '+49,151,', '']],
    ['commas in one number', ['+49', ',151', '']],
    ['apostrophes', ['+49', "'15'", '']],
    ['marks on digits', ['', '1\u0301', '']],
    ['marks on a digit', ['1', '\u0301', '2']],
    ['spaces and marks', ['1', ' \u0301', '2']],
    ['escapes written out', ['', '\\t01', '']],
    ['blanks beside at signs', ['', 'a @ b.c ', '']],
    ['blanks and at signs', ['', ' @\t@\n', '']],
    ['at signs behind escapes written out', ['', '\\n@', '']],
    ['asterisks', ['', '+49*151*2', '']],
    ['quotes behind equals signs', ['tel=', '\\"', '']],
  ])('costs time linear in %s', (_case, hostile) => expectLinear(redact, hostile));

  it('costs time linear in anything that repeats', () => {
    const parts = [
      ...tokens,
      ...joints,
      ...'&#64; \\u0040 %E2%80%8B ) [ ] 00 06 650 555 0142 -> \u200b ０ wa.me/ call DE89 . ( _ @bb'.split(' '),
    ];
    const unit = fc.string({ unit: fc.constantFrom(' ', ...parts), minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(unit, unit, (repeated, end) =>
        expectLinear((text) => redactText(text, false, ['US', 'ES', 'DK']), ['', repeated, end]),
      ),
      { numRuns: 40 },
    );
  });
});
