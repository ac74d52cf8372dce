import { describe, expect, it } from 'vitest';
import { coreOfText } from '#pipelines/engage/spam.ts';
import { checkAll } from '#test/harness/check_all.ts';

describe('the core of a text', () => {
  const text = 'We sell the best links for your business, write to us today';

  it('is the same whatever surrounds and adorns it', () =>
    checkAll(
      [
        ['characters that show nothing', text.split('').join('\u200b')],
        ['trailing punctuation', `${text}!!! …`],
        ['look-alikes', text.replaceAll('e', 'е').replaceAll('o', 'ο')],
        ['another case and spaces', text.toUpperCase().replaceAll(' ', '\u00a0 ')],
        ['fullwidth letters', text.replaceAll('s', 'ｓ')],
        ['accents', text.replaceAll('e', 'é')],
      ],
      ([_how, other]) => expect(coreOfText(other)).toBe(coreOfText(text)),
    ));

  it('is another of another text, also where only a figure is', () => {
    expect(coreOfText(`${text} please`)).not.toBe(coreOfText(text));
    expect(coreOfText(`${text} 17`)).not.toBe(coreOfText(`${text} 18`));
    expect(coreOfText('!?')).not.toBe(coreOfText('!!'));
  });
});
