import { expect, it } from 'vitest';
import { Alias, Anchor, yamlFile } from '#test/deploy/yaml.ts';

it.for([
  ['plain', 'plain'],
  ['a.b/c-d_e', 'a.b/c-d_e'],
  ['host:80', 'host:80'],
  ['', '""'],
  ['yes', '"yes"'],
  ['Null', '"Null"'],
  ['9464', '"9464"'],
  ['1e3', '"1e3"'],
  ['~', '"~"'],
  ['a: b', '"a: b"'],
  ['a #b', '"a #b"'],
  ['- a', '"- a"'],
  ['*', '"*"'],
  ['key:', '"key:"'],
  ['say "x"', `'say "x"'`],
  [`it's "x"`, '"it\'s \\"x\\""'],
  ['say "x"\n', '"say \\"x\\"\\n"'],
  ['a: 1\n\n# b', '|-\n  a: 1\n\n  # b'],
  [9464, '9464'],
  [true, 'true'],
  [null, 'null'],
] as const)('writes %s so that it is read as the same', ([value, text]) => {
  expect(yamlFile('A file.', { value })).toBe(`# A file.\nvalue: ${text}\n`);
});

it('writes maps, lists and what is repeated', () => {
  const list = [
    { name: 'a', of: ['x', '1'] },
    { name: 'b', of: [], with: {} },
  ];
  expect(yamlFile('Two\n\nlines.', { top: new Anchor('it', { list }) }, { '<<': new Alias('it') })).toBe(`# Two
#
# lines.
top: &it
  list:
    - name: a
      of: ["x", "1"]
    - name: b
      of: []
      with: {}
---
<<: *it
`);
});
