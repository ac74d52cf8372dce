import { type Static, Type } from 'typebox';
import { isEventName, type Problem, unless } from '#pipelines/settings/problems.ts';
import { addressText, COMMON_FIELDS, count, fixed, flag, idText, shownText, texts } from './definition_fields.ts';

/** Properties of the API that a field may become. */
const FIELD_MAPS = [
  '',
  'email',
  'phone',
  'first_name',
  'last_name',
  'city',
  'zip',
  'country',
  'external_id',
  'value',
  'currency',
  'order_id',
] as const;

/** The box for marketing among the fields of a form that a script sends. No field of a definition can have the name. */
export const MARKETING_FIELD = '_marketing';

const option = fixed({ id: idText('What is sent'), label: shownText(200, 'What the visitor reads') });

const field = fixed({
  name: Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$', description: 'Name of the field in the page' }),
  type: Type.Enum(['text', 'email', 'tel', 'number', 'select', 'checkbox', 'textarea', 'hidden']),
  label: shownText(300, 'What the visitor reads'),
  placeholder: shownText(300, 'What stands in it while it is empty'),
  required: flag(false, 'Whether it must be filled in'),
  max_length: count(1, 5000, 500, 'Characters'),
  options: texts(option, 100, 'For select'),
  map: Type.Enum([...FIELD_MAPS], { default: '', description: 'The property that it becomes' }),
  store: Type.Enum(['keep', 'hash', 'drop'], {
    default: 'drop',
    description: 'What is kept of a field without map: what it says, its keyed hash, or nothing',
  }),
});

const spam = fixed(
  {
    honeypot: Type.String({
      pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$',
      default: 'website_2',
      description: 'Name of a hidden field that only bots fill in (honeypot)',
    }),
    min_ms: count(0, 60_000, 1500, 'Nobody fills it in faster'),
    links_max: count(0, 20, 2, 'Links that its texts may hold'),
    challenge: Type.Enum(['off', 'auto', 'always'], {
      default: 'auto',
      description: 'When the browser has to compute something: never, in doubt, or always',
    }),
    domains_blocked: texts(Type.String({ minLength: 1, maxLength: 253 }), 100, 'E-mail domains that are not taken'),
    without_script: flag(true, 'Whether a plain HTML form is taken, which can bring no token'),
  },
  { default: {}, description: 'What tells programs from people' },
);

/** A form as it is stored: every default filled in. */
export const formSchema = fixed({
  ...COMMON_FIELDS,
  title: shownText(200, 'Heading'),
  body: shownText(2000, 'Text above the fields'),
  fields: Type.Array(field, { minItems: 1, maxItems: 50 }),
  button: shownText(100, 'What the button says'),
  consent_text: shownText(2000, 'What the visitor agrees to by sending it'),
  consent_required: flag(false, 'Whether consent.process must be true'),
  marketing_text: shownText(2000, 'What the visitor may agree to beside it: a box more, which is consent.marketing'),
  consent_version: Type.String({ maxLength: 64, default: '', description: 'Stands in the event' }),
  conversion_event: Type.String({ minLength: 1, maxLength: 200, default: 'generate_lead', description: 'Its event' }),
  currency: Type.String({ pattern: '^(?:|[A-Z]{3})$', default: '', description: 'Of value, where no field says it' }),
  value: Type.Union([Type.Number({ minimum: 0, maximum: 1e12 }), Type.Null()], {
    default: null,
    description: 'What a lead is worth, where no field says it',
  }),
  message: shownText(1000, 'What is said when it was sent'),
  redirect: addressText('Where a form without script leads when it was taken; empty: a page that says message'),
  redirect_invalid: addressText('Where a form without script leads when a field is not right'),
  spam,
});
export type Form = Static<typeof formSchema>;
export type FormField = Form['fields'][number];

/** What a form's fields must be to each other. */
export function formProblems({
  fields,
  conversion_event,
  consent_text,
  consent_required,
  redirect,
  redirect_invalid,
  spam: { honeypot },
}: Form): Problem[] {
  const names = fields.map(({ name }) => name);
  const maps = fields.flatMap(({ map }) => (map === '' ? [] : [map]));
  return [
    ...unless(new Set(names).size === names.length, 'repeated', 'fields', 'two of them have one name'),
    ...unless(new Set(maps).size === maps.length, 'repeated', 'fields', 'two of them have one map'),
    ...unless(!names.includes(honeypot), 'repeated', 'spam.honeypot', 'is a field of the form'),
    ...unless(redirect === '' || URL.canParse(redirect), 'field_malformed', 'redirect', 'is no address'),
    ...unless(
      redirect_invalid === '' || URL.canParse(redirect_invalid),
      'field_malformed',
      'redirect_invalid',
      'is no address',
    ),
    ...unless(isEventName(conversion_event), 'event_name_malformed', 'conversion_event', 'is no name of an event'),
    // What follows would have every visitor's form refused: none can be filled in.
    ...unless(!consent_required || consent_text !== '', 'field_missing', 'consent_text', 'is missing'),
    ...fields.flatMap(({ type, required, options, label }, index) => [
      ...unless(
        type !== 'hidden' || !required,
        'field_malformed',
        `fields[${index}].required`,
        'is for no hidden field',
      ),
      ...unless(type !== 'select' || options.length > 0, 'field_missing', `fields[${index}].options`, 'is missing'),
      ...unless(type === 'hidden' || label !== '', 'field_missing', `fields[${index}].label`, 'is missing'),
    ]),
  ];
}
