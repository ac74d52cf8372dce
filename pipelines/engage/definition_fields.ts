import { type TArray, type TProperties, type TSchema, Type } from 'typebox';
import { ID_PATTERN } from '#pipelines/settings/problems.ts';

/** What a visitor can be shown; each has definitions of its own. */
export const ENGAGE_KINDS = ['survey', 'promo', 'form'] as const;
export type EngageKind = (typeof ENGAGE_KINDS)[number];

/** How a survey, promo or form is called where both kind and id are needed: `survey:nps`. */
export type ItemName = `${EngageKind}:${string}`;

export const itemName = (kind: EngageKind, id: string): ItemName => `${kind}:${id}`;

/** Longest that anything about a visitor is remembered on the server, in days. */
export const MEMORY_DAYS = 180;

const COLOUR = '^#(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})$';
const LENGTH = '^(?:0|[0-9]{1,3}(?:px|%)|[0-9]{1,2}(?:\\.[0-9]{1,2})?(?:rem|em))$';
const LOCALE = '^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,2}$';

const COUNTRY = '^[A-Z]{2}$';

export const fixed = <Properties extends TProperties>(properties: Properties, options: object = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options });

/** What has a default of its own in every field may be left out as a whole. */
const defaulted = <Properties extends TProperties>(properties: Properties, description: string) =>
  fixed(properties, { default: {}, description });

export const idText = (description: string) => Type.String({ pattern: ID_PATTERN.source, description });

/** Text that visitors read; it is shown as text, never as HTML. */
export const shownText = (maxLength: number, description: string) =>
  Type.String({ maxLength, default: '', description });

export const flag = (usual: boolean, description: string) => Type.Boolean({ default: usual, description });

export const count = (minimum: number, maximum: number, usual: number, description: string) =>
  Type.Integer({ minimum, maximum, default: usual, description });

const optionalTime = (description: string) =>
  Type.Union([Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()], {
    default: null,
    description: `${description}, in milliseconds since 1970 UTC; null: always`,
  });

export function texts<Item extends TSchema>(item: Item, maxItems: number, description: string): TArray<Item> {
  return Type.Array(item, { maxItems, default: [], description });
}

/** Https, or http on this very machine, where shops are tried out. */
const ADDRESS =
  '^(?:|https://[^\\s]{1,2000}|http://(?:localhost|127\\.0\\.0\\.1)(?::[0-9]{1,5})?(?:/[^\\s]{0,1900})?)$';
export const addressText = (description: string) =>
  Type.String({ pattern: ADDRESS, maxLength: 2048, default: '', description });
/** An address, or a path of the page's own site. */
const LINK = `^(?:/(?!/)[^\\s\\\\]{0,2000}|${ADDRESS.slice(1, -1)})$`;
export const linkText = (description: string) =>
  Type.String({ pattern: LINK, maxLength: 2048, default: '', description });

const languageTag = new RegExp(LOCALE);
/** Whether a text is a language as definitions name them. */
export const isLanguageTag = (text: string): boolean => languageTag.test(text);

/** What a text must be that does not have the form of its field, in words: nobody reads regular expressions. */
export const PATTERN_WORDS: ReadonlyMap<string, string> = new Map([
  [ID_PATTERN.source, 'must have 1 to 64 of a-z, 0-9, _ and -'],
  [COLOUR, 'must be a colour as #1f4fd8'],
  [LENGTH, 'must be a length as 8px, 1.5rem, 2em or 50%'],
  [LOCALE, 'must be a language as de or de-AT'],
  [COUNTRY, 'must be a country by its two letters, as BE'],
  [ADDRESS, 'must be an https address'],
  [LINK, 'must be an https address, or a path that begins with /'],
]);

const urlPattern = Type.String({ minLength: 1, maxLength: 500 });

const audience = fixed({
  event: Type.String({ minLength: 1, maxLength: 200, description: 'Name of an event of the site' }),
  did: flag(true, 'false: only visitors who did not'),
  times: count(1, 1000, 1, 'How often at least'),
  within_days: count(1, MEMORY_DAYS, MEMORY_DAYS, 'Of which the last one so many days ago at most'),
});

const targeting = defaulted(
  {
    url_pattern: texts(urlPattern, 20, 'Pages it is shown on, with * for any text; empty: every page'),
    url_exclude: texts(urlPattern, 20, 'Pages it is not shown on'),
    device: texts(Type.Enum(['mobile', 'tablet', 'desktop']), 3, 'Empty: every device'),
    locale: texts(Type.String({ pattern: LOCALE }), 50, 'Languages, as de or de-AT; empty: every language'),
    country: texts(Type.String({ pattern: COUNTRY }), 250, 'ISO 3166-1 alpha-2; empty: every country'),
    audience: texts(audience, 5, 'What the visitor must have done, all of it'),
  },
  'Who sees it, and where',
);

const frequency = defaulted(
  {
    max_times: Type.Union([Type.Integer({ minimum: 1, maximum: 1000 }), Type.Null()], {
      default: 1,
      description: 'How often one person sees it; null: as often as it fits',
    }),
    every_days: count(0, MEMORY_DAYS, 0, 'Days between two times it is shown to one person'),
    after_done: Type.Union([Type.Literal('never'), Type.Integer({ minimum: 0, maximum: MEMORY_DAYS })], {
      default: 'never',
      description:
        'Once answered, submitted or clicked, or its code copied or redeemed: never again, or after so many days',
    }),
    wait_any_days: count(0, MEMORY_DAYS, 0, 'Days since the person was last shown anything of the site'),
  },
  'How often one person sees it',
);

const show = defaulted(
  {
    on: Type.Enum(['load', 'exit', 'scroll', 'event', 'click'], { default: 'load', description: 'When it appears' }),
    after_ms: count(0, 600_000, 0, 'Milliseconds after that'),
    scroll_percent: count(1, 100, 50, 'For scroll: how far down the page'),
    event: Type.String({ maxLength: 200, default: '', description: 'For event: its name, in this page view' }),
    selector: Type.String({ maxLength: 500, default: '', description: 'For click: what is clicked' }),
  },
  'What makes it appear',
);

const theme = fixed(
  {
    accent: Type.Optional(Type.String({ pattern: COLOUR })),
    on_accent: Type.Optional(Type.String({ pattern: COLOUR })),
    background: Type.Optional(Type.String({ pattern: COLOUR })),
    text: Type.Optional(Type.String({ pattern: COLOUR })),
    border: Type.Optional(Type.String({ pattern: COLOUR })),
    radius: Type.Optional(Type.String({ pattern: LENGTH })),
    font_size: Type.Optional(Type.String({ pattern: LENGTH })),
    width: Type.Optional(Type.String({ pattern: LENGTH })),
  },
  { default: {}, description: 'Colours as #rrggbb, lengths as 8px or 1rem' },
);

const translation = Type.Record(Type.String({ pattern: '^[a-z0-9_.-]{1,200}$' }), Type.String({ maxLength: 2000 }), {
  maxProperties: 500,
});

/** What every definition has, whatever it shows. */
export const COMMON_FIELDS = {
  id: idText('Chosen at creation, for good; not to be used again for something else'),
  name: Type.String({ minLength: 1, maxLength: 100, description: 'Name shown to people who work with it' }),
  enabled: flag(true, 'Whether it is shown at all'),
  priority: count(0, 100, 50, 'Of several that fit, the higher comes first'),
  starts_at: optionalTime('When it begins'),
  ends_at: optionalTime('When it ends'),
  share_percent: Type.Number({
    minimum: 0,
    maximum: 100,
    default: 100,
    description: 'The share of visitors who may see it; a visitor stays in or out of it',
  }),
  consent_needed: Type.Enum(['none', 'analytics', 'ads'], {
    default: 'none',
    description: 'What a visitor must have agreed to',
  }),
  locale: Type.String({ pattern: LOCALE, default: 'en', description: 'The language its texts are in' }),
  targeting,
  frequency,
  show,
  place: Type.Enum(['popover', 'banner', 'inline', 'modal'], { default: 'popover', description: 'Where it appears' }),
  mount: Type.String({ maxLength: 500, default: '', description: 'For inline: selector of the element it appears in' }),
  theme,
  translations: Type.Record(Type.String({ pattern: LOCALE }), translation, {
    default: {},
    maxProperties: 50,
    description: 'Texts in other languages, by language and by the name of the text, as questions.q1.text',
  }),
} satisfies TProperties;
