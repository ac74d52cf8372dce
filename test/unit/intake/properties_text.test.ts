import fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertiesText } from '#pipelines/intake/field_rules.ts';
import { take } from './context.ts';

test.for([
  [{ wei: 1e20, plan: 'pro' }, '{"wei":1e+20,"plan":"pro"}'],
  [
    { wei: [2 ** 64, -(2 ** 63), 123456789012345680000] },
    '{"wei":[1.8446744073709552e+19,-9.223372036854776e+18,1.2345678901234568e+20]}',
  ],
  [{ whole: 2 ** 63, less: -(2 ** 62) }, '{"whole":9223372036854776000,"less":-4611686018427388000}'],
  [
    { text: '100000000000000000000,', '100000000000000000000': 1 },
    '{"text":"100000000000000000000,","100000000000000000000":1}',
  ],
  [{ quoted: '\\",100000000000000000000}', wei: 1e20 }, '{"quoted":"\\\\\\",100000000000000000000}","wei":1e+20}'],
  [{ half: 'a\ud800', '\udfff': '\ud83d\ude00' }, '{"half":"a\ufffd","\ufffd":"\u{1f600}"}'],
  [{ path: 'C:\\ud800\\users' }, '{"path":"C:\\\\ud800\\\\users"}'],
  [
    { fraction: 0.12345678901234568, small: 5e-324, great: 1.7976931348623157e308 },
    '{"fraction":0.12345678901234568,"small":5e-324,"great":1.7976931348623157e+308}',
  ],
] as const)('%j is kept as JSON that ClickHouse reads', ([properties, text]) => {
  expect(propertiesText(properties)).toBe(text);
});

test('a number too large is found wherever it stands, beside shorter ones', () => {
  for (let before = 0; before < 60; before += 1) {
    const text = '7'.repeat(before % 19);
    const padding = '.'.repeat(before);
    expect(propertiesText({ text, padding, wei: 1e20 })).toBe(`{"text":"${text}","padding":"${padding}","wei":1e+20}`);
    expect(propertiesText({ padding, wei: 2 ** 64 })).toBe(`{"padding":"${padding}","wei":1.8446744073709552e+19}`);
  }
});

test('an event that is taken has its properties so', () => {
  expect(take({ event: 'e', properties: { wei: 1e20 } }).properties).toBe('{"wei":1e+20}');
});

const anything = fc.dictionary(
  fc.string({ unit: 'binary' }),
  fc.oneof(
    fc.jsonValue(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(1e19, -1e19, 1e20, '\ud800', '\\ud800'),
  ),
);

test('what is kept says the same, but for halves of surrogate pairs', () => {
  fc.assert(
    fc.property(anything, (properties) => {
      const same: unknown = JSON.parse(JSON.stringify(properties).toWellFormed());
      const text = propertiesText(properties);
      expect(text).not.toMatch(/[[:,]-?\d{21,}[,\]}]/);
      expect(wellFormed(JSON.parse(text))).toEqual(wellFormed(same));
    }),
  );
});

/** With halves replaced in names too; the last of two names that are one then counts. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name.toWellFormed(), wellFormed(of)]));
}
