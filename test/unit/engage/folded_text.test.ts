import { describe, expect, it } from 'vitest';
import { coreOfText } from '#pipelines/engage/folded_text.ts';

describe('the core of a text', () => {
  const text = 'We sell the best links for your business, write to us today';

  it.each([
    ['characters that show nothing', text.split('').join('\u200b')],
    ['trailing punctuation', `${text}!!! …`],
    ['look-alikes', text.replaceAll('e', 'е').replaceAll('o', 'ο')],
    ['another case and spaces', text.toUpperCase().replaceAll(' ', '\u00a0 ')],
    ['fullwidth letters', text.replaceAll('s', 'ｓ')],
    ['accents', text.replaceAll('e', 'é')],
  ])('is the same with %s', (_how, other) => expect(coreOfText(other)).toBe(coreOfText(text)));

  it('is another of another text, also where only a figure is', () => {
    expect(coreOfText(`${text} please`)).not.toBe(coreOfText(text));
    expect(coreOfText(`${text} 17`)).not.toBe(coreOfText(`${text} 18`));
    expect(coreOfText('!?')).not.toBe(coreOfText('!!'));
  });
});
