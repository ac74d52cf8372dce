import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactText } from '#pipelines/privacy/redact_text.ts';

describe('redaction', () => {
  const joints = ['00 ', ..."@@ <b> </b> <!-- --> :// :pw@ plus \\t +49, ' ` \u0301".split(' ')];
  const tokens = 'a Z 9 @ . % + = & ? / " 4 0 : - é 你 , ; %40 %2B tel: @b.com email= %3D +1415 %20 %25'.split(' ');

  it.each([
    ['a run of letters', `${'a'.repeat(250_000)}@example.com`],
    ['at signs', 'a@'.repeat(125_000)],
    ['at signs with domains', 'a@b.'.repeat(62_000)],
    ['encoded percent signs', '%25'.repeat(80_000)],
    ['encoded at signs', '%2540'.repeat(50_000)],
    ['plus signs', '+1'.repeat(125_000)],
    ['unanswered questions', 'tel='.repeat(62_000)],
    ['parameters', 'email='.repeat(40_000)],
    ['brackets', '(65'.repeat(80_000)],
    ['groups', '01 23 '.repeat(40_000)],
    ['trunk prefixes', '0'.repeat(250_000)],
    ['bare numbers', 'call 123456789 '.repeat(16_000)],
    ['spaces', `0151${' '.repeat(250_000)}1`],
    ['digits', `+${'1'.repeat(250_000)}`],
    ['quotes', '"@a.com'.repeat(35_000)],
    ['members', '"tel":"'.repeat(35_000)],
    ['encoded members', '%22tel%22%3A%22'.repeat(15_000)],
    ['backslashes', `${'\\\\'.repeat(125_000)}"`],
    ['names', `"${'a'.repeat(250_000)}":"`],
    ['dots', `a@${'1.'.repeat(125_000)}`],
    ['users at hosts', 'aa@bb '.repeat(42_000)],
    ['comments', ')@x.com'.repeat(36_000)],
    ['address literals', 'a@[1:'.repeat(50_000)],
    ['character references', '&#64;'.repeat(50_000)],
    ['references of references', `${'&amp;'.repeat(50_000)}#64;`],
    ['escapes of JavaScript', '\\u0040'.repeat(40_000)],
    ['escapes in many rounds', `%${'25'.repeat(125_000)}40`],
    ['escapes of what shows nothing', '%E2%80%8B'.repeat(28_000)],
    ['broken escapes', '%E2%'.repeat(62_000)],
    ['what shows nothing', 'a\u200b@\u00ad'.repeat(60_000)],
    ['marks on letters', `a${'\u0301'.repeat(250_000)}`],
    ['foreign digits', '٠١٢٣ '.repeat(50_000)],
    ['fullwidth digits', '０１５１　'.repeat(50_000)],
    ['numbers of a country', '612 345 678 x '.repeat(18_000)],
    ['digits of a country', '12 34 '.repeat(42_000)],
    ['bank accounts', 'DE89 3704 0044 '.repeat(17_000)],
    ['letters of a bank account', `DE89${' ABCD'.repeat(50_000)}`],
    ['double zeros', '004912345678 '.repeat(19_000)],
    ['links', 'wa.me/tel:sms://'.repeat(16_000)],
    ['words before numbers', `${'call no no no '.repeat(17_000)}1234567`],
    ['a word without end', `${'t'.repeat(250_000)} 1234567`],
    ['doubled at signs', 'a@@b.'.repeat(50_000)],
    ['nothing but at signs', `a${'@'.repeat(250_000)}b.com`],
    ['tags before at signs', 'a<b></b><b></b>@'.repeat(16_000)],
    ['tags behind at signs', 'a@<b></b><b>'.repeat(21_000)],
    ['tags that do not end', 'a@<b<b<b<b'.repeat(25_000)],
    ['brackets before an at sign', 'a<a>>>>@b.'.repeat(25_000)],
    ['comments', 'a<!-- -->@<!-- -->b.'.repeat(12_000)],
    ['beginnings of URLs', 'https://a:b'.repeat(22_000)],
    ['colons and slashes', '://'.repeat(83_000)],
    ['slashes behind a colon', `:${'\\'.repeat(250_000)}`],
    ['a user without end', `https://${'a'.repeat(250_000)}:@`],
    ['a password without end', `https://a:${'@'.repeat(250_000)}`],
    ['encoded users', '%3A%2F%2Fa%3Ab%40'.repeat(15_000)],
    ['spelled pluses', 'plus 49 151 '.repeat(21_000)],
    ['spelled double zeros', '00 49 151 '.repeat(25_000)],
    ['double zeros without end', '00 '.repeat(83_000)],
    ['commas behind pluses', '+49,151,'.repeat(31_000)],
    ['commas in one number', `+49${',151'.repeat(62_000)}`],
    ['apostrophes', `+49${"'15'".repeat(62_000)}`],
    ['marks on digits', '1\u0301'.repeat(125_000)],
    ['marks on a digit', `1${'\u0301'.repeat(250_000)}2`],
    ['spaces and marks', `1${' \u0301'.repeat(125_000)}2`],
    ['escapes written out', '\\t01'.repeat(62_000)],
    ['blanks beside at signs', 'a @ b.c '.repeat(31_000)],
    ['blanks and at signs', ' @\t@\n'.repeat(50_000)],
    ['at signs behind escapes written out', '\\n@'.repeat(83_000)],
    ['asterisks', '+49*151*2'.repeat(27_000)],
    ['quotes behind equals signs', `tel=${'\\"'.repeat(125_000)}`],
  ])('costs time linear in %s', (_case, hostile) => {
    const before = process.cpuUsage();
    redactText(hostile, true, ['US', 'ES', 'DK']);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
  });

  it('costs time linear in anything that repeats', () => {
    const parts = [
      ...tokens,
      ...joints,
      ...'&#64; \\u0040 %E2%80%8B ) [ ] 00 06 650 555 0142 -> \u200b ０ wa.me/ call DE89 . ( _ @bb'.split(' '),
    ];
    const unit = fc.string({ unit: fc.constantFrom(' ', ...parts), minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(unit, unit, (repeated, end) => {
        const hostile = repeated.repeat(Math.ceil(262_144 / repeated.length)).slice(0, 262_144) + end;
        const before = process.cpuUsage();
        redactText(hostile, false, ['US', 'ES', 'DK']);
        expect(process.cpuUsage(before).user / 1000).toBeLessThan(1500);
      }),
      { numRuns: 40 },
    );
  });
});
