import { expect, it } from 'vitest';
import { linksIn } from '#pipelines/engage/links.ts';

it.each([
  ['https://a.example/b and www.b.example', 2],
  ['ｈｔｔｐ://a.example', 1],
  ['ht\u200Btp://a.example', 1],
  ['http%3A%2F%2Fa.example', 1],
  ['http:\\\\a', 1],
  ['//a.com', 1],
  ['a.com b.com c.com', 3],
  ['<a href=x>[url=y]', 2],
])('in %j stand %i links', (text, count) => expect(linksIn(text)).toBe(count));

it.each(['jane.doe@mail.com', 'I run node.js, e.g. on Mondays.', 'and/or 1/2', 'from 10.30 to 11.45'])(
  'in %j stands no link',
  (text) => expect(linksIn(text)).toBe(0),
);
