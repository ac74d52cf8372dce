import { type Static, Type } from 'typebox';
import { type Problem, unless } from '#pipelines/settings/problem.ts';
import { addressText, COMMON_FIELDS, fixed, linkText, shownText } from './definition_fields.ts';

const eventText = (maxLength: number, description: string) =>
  Type.String({ maxLength, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$', default: '', description });

/** A promo as it is stored: every default filled in. */
export const promoSchema = fixed({
  ...COMMON_FIELDS,
  title: shownText(200, 'Heading'),
  body: shownText(2000, 'Text, without marks of any kind'),
  image_url: addressText('Picture, over https'),
  image_alt: shownText(300, 'What the picture shows, for those who do not see it'),
  button: fixed(
    { text: shownText(100, 'What the button says'), url: linkText('Where it leads') },
    { default: {}, description: 'Where a click leads' },
  ),
  code: eventText(64, 'Code that the visitor can copy'),
  creative: eventText(100, 'creative_name of its events'),
  slot: eventText(100, 'creative_slot of its events'),
});
export type Promo = Static<typeof promoSchema>;

/** What a promo's fields must be to each other. */
export function promoProblems({ title, body, image_url, image_alt, button }: Promo): Problem[] {
  return [
    ...unless(
      `${title}${body}${image_url}` !== '',
      'field_missing',
      'title',
      'none of title, body and image_url is there',
    ),
    ...unless(
      image_url === '' || image_alt !== '',
      'field_missing',
      'image_alt',
      'is missing: it says what the picture shows',
    ),
    ...unless(
      (button.url === '') === (button.text === ''),
      'field_missing',
      'button',
      'has one of text and url without the other',
    ),
  ];
}
