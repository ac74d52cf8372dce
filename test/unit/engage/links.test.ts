import { expect, it } from 'vitest';
import { linksIn } from '#pipelines/engage/spam.ts';
import { checkAll } from '#test/harness/check_all.ts';

it('links in a text are counted', () =>
  checkAll(
    [
      ['https://a.example/b and www.b.example', 2],
      ['ｈｔｔｐ://a.example', 1],
      ['ht\u200Btp://a.example', 1],
      ['http%3A%2F%2Fa.example', 1],
      ['http:\\\\a', 1],
      ['//a.com', 1],
      ['a.com b.com c.com', 3],
      ['<a href=x>[url=y]', 2],
      ['bit.ly/1 and goo.page/x', 2],
      ['пример.рф münchen.de xn--80ak6aa92e.com', 3],
      ['a\u3002com and a．net', 2],
      ['a[.]com a(.)net a[dot]org', 3],
      ['a&#46;com', 1],
      ['1.2.3.4 and 10.0.0.1:8080', 2],
      ['buy at a . com now', 1],
      ['ftp://a', 1],
      ['www.shop.museum', 1],
    ],
    ([text, count]) => expect(linksIn(text)).toBe(count),
  ));

it('what only looks like a link is not counted', () =>
  checkAll(
    [
      'jane.doe@mail.com',
      'jane.doe@mail.com.',
      'fertig.Das war es.dann',
      'next.js/react in readme.md/a',
      'version 1.2.3',
      'am 1.2.2026.',
      'wow . yes',
      'I run node.js, e.g. on Mondays.',
      'and/or 1/2',
      'from 10.30 to 11.45',
    ],
    (text) => expect(linksIn(text)).toBe(0),
  ));
