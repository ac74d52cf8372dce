import { expect, test } from 'vitest';
import { pageArrival } from '#pipelines/intake/compat/mapped_call.ts';
import { eventOfMetaHit, eventOfTiktokHit } from '#pipelines/intake/pixels.ts';
import { SECRET } from '#test/unit/intake/context.ts';

test.each<[unknown, Record<string, string>]>([
  [
    'https://s.example/?utm_source=a&utm_campaign=b%20c&gclid=GG',
    { utm_source: 'a', utm_campaign: 'b c', gclid: 'GG' },
  ],
  ['/p?UTM_Source=News&Utm_ID=7&utm_source_platform=x', { utm_source: 'News', utm_id: '7', utm_source_platform: 'x' }],
  ['?ScCid=S1&FBCLID=Fb_1-x&li_fat_id=l&x=1', { sccid: 'S1', fbclid: 'Fb_1-x', li_fat_id: 'l' }],
  ['https://s.example/?utm_source=&utm_source=second&utm_source=third', { utm_source: 'second' }],
  [`https://s.example/?gclid=${'g'.repeat(500)}&utm_term=t`, { utm_term: 't' }],
  ['https://s.example/#?utm_source=a', {}],
  ['https://s.example/?utm_source=a#utm_medium=b', { utm_source: 'a' }],
  ['https://s.example/?__proto__=1&constructor=2&utm_=3', {}],
  ['utm_source=a', {}],
  [undefined, {}],
  [7, {}],
])('%s tells of how the visitor came', (address, told) => {
  expect(pageArrival(address)).toStrictEqual(told);
});

test('clicks are left out where they may not be known, and of names nobody chose no more than thirty are taken', () => {
  expect(pageArrival('?gclid=G&utm_source=a', false)).toStrictEqual({ utm_source: 'a' });
  const many = Array.from({ length: 6_000 }, (_, at) => `utm_${at}=x`).join('&');
  expect(Object.keys(pageArrival(`?${many}`))).toHaveLength(30);
});

test('pixels tell the campaign of their page, and what a page says itself holds', () => {
  const page = 'https://s.example/?utm_source=fb&fbclid=F&ttclid=T';
  const meta = {
    index: 0,
    text: '',
    fields: new Map([
      ['ev', 'Lead'],
      ['dl', page],
      ['cd[utm_source]', 'own'],
    ]),
  };
  expect(eventOfMetaHit(meta, { visitor: null, secret: SECRET })).toMatchObject({
    properties: { utm_source: 'own', fbclid: 'F' },
  });
  const hit = { event: 'Lead', context: { page: { url: page } } };
  expect(eventOfTiktokHit(hit, { visitor: null, secret: SECRET })).toMatchObject({
    properties: { utm_source: 'fb', ttclid: 'T' },
  });
});
