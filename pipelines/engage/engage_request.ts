import { type Static, type TObject, Type } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { ID_PATTERN } from '#pipelines/settings/problems.ts';

/**
 * Bodies of the routes of surveys, promos and forms; after decompression. A plain form has nine bytes for each letter of
 * Chinese or Japanese, and a field may have 5,000 letters.
 */
export const ENGAGE_BODY_BYTES_MAX = 64 * 1024;
/** Definitions of a site, of every kind: a browser remembers no more. */
const SEEN_MAX = 150;
/** Fields that a form may send: a definition has 50 at most. */
export const FIELDS_SENT_MAX = 100;

const text = (maxLength: number, description: string) => Type.String({ maxLength, description });
const time = (description: string) =>
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: `${description}, in milliseconds since 1970 UTC`,
  });

/** Who looks: what every route of these takes. Fields beyond these are ignored. */
const visitorShape = Type.Object({
  distinct_id: Type.Optional(text(200, 'As in events; absent: an anonymous visitor')),
  session_id: Type.Optional(text(200, 'Stands in the events')),
  consent: Type.Optional(
    Type.Object(
      { analytics: Type.Optional(Type.Boolean()), ads: Type.Optional(Type.Boolean()) },
      { description: 'What the visitor agreed to; what is not said was not agreed to' },
    ),
  ),
  locale: Type.Optional(text(35, 'BCP 47, as de-AT')),
  device: Type.Optional(Type.Enum(['mobile', 'tablet', 'desktop'])),
  country: Type.Optional(Type.String({ pattern: '^[A-Za-z]{2}$', description: 'ISO 3166-1 alpha-2' })),
});
export type SentVisitor = Static<typeof visitorShape>;

const pageShape = Type.Object({
  url: text(4096, 'Address of the page'),
  title: Type.Optional(text(1000, 'Its title')),
  referrer: Type.Optional(text(4096, 'Where the visitor came from')),
  campaign: Type.Optional(
    Type.Object(
      {
        utm_source: Type.Optional(text(200, 'As newsletter')),
        utm_medium: Type.Optional(text(200, 'As email')),
        utm_campaign: Type.Optional(text(200, 'As spring')),
        utm_term: Type.Optional(text(200, 'What was searched for')),
        utm_content: Type.Optional(text(200, 'Which ad or link')),
      },
      { description: 'What the address itself does not say of the campaign' },
    ),
  ),
});
export type SentPage = Static<typeof pageShape>;

const seenShape = Type.Object({
  n: Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'How often it was shown' }),
  last: time('When it was shown last'),
  done: Type.Optional(time('When it was answered, clicked or submitted')),
});

/** As survey:nps. */
const NAME_PATTERN = '^(?:survey|promo|form):[a-z0-9_-]{1,64}$';

/** Body of POST /v1/engage. */
export const engageShape = Type.Object({
  page: pageShape,
  visitor: Type.Optional(visitorShape),
  open: Type.Optional(
    Type.Array(Type.String({ pattern: NAME_PATTERN }), {
      maxItems: SEEN_MAX,
      description: 'What the page has open, by kind and id as survey:nps: of an application that is on its next page',
    }),
  ),
  seen: Type.Optional(
    Type.Record(Type.String({ pattern: NAME_PATTERN }), seenShape, {
      maxProperties: SEEN_MAX,
      description: 'What this browser remembers, by kind and id as survey:nps',
    }),
  ),
});
export type EngageRequest = Static<typeof engageShape>;

const uuid = (description: string) =>
  Type.String({
    pattern: '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$',
    description: `${description}: a UUID`,
  });
const id = (description: string) => Type.String({ pattern: ID_PATTERN.source, description });
const version = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description: 'As /v1/engage said' });
const token = text(200, 'As /v1/engage said');
const circumstances = {
  page: Type.Optional(pageShape),
  visitor: Type.Optional(visitorShape),
  timestamp: Type.Optional(text(64, 'When it happened, as in events; absent: now')),
};

const answerShape = Type.Object({
  question_id: id('The question'),
  value: Type.Union(
    [
      Type.String({ maxLength: 2000 }),
      Type.Number(),
      Type.Boolean(),
      Type.Array(Type.String({ maxLength: 2000 }), { maxItems: 30 }),
    ],
    { description: 'A text, a number, a choice id or several; true for a link that was followed' },
  ),
});

const proofShape = Type.Object({
  salt: text(200, 'As the challenge said'),
  challenge: text(64, 'As the challenge said'),
  signature: text(64, 'As the challenge said'),
  number: Type.Integer({ minimum: 0, maximum: 10_000_000, description: 'The number that was found' }),
});
export type Proof = Static<typeof proofShape>;

/** Body of POST /v1/surveys/respond. */
export const respondShape = Type.Object({
  survey_id: id('The survey'),
  version,
  submission_id: uuid('One for each time it is shown'),
  token,
  status: Type.Enum(['shown', 'partial', 'completed', 'dismissed'], { description: 'How far the visitor is' }),
  answers: Type.Optional(Type.Array(answerShape, { maxItems: 20, description: 'All answers so far' })),
  elapsed_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000, description: 'Since it was shown' })),
  revision: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Which answer of the showing came last, from 1: the same again is the same response sent once more',
    }),
  ),
  challenge: Type.Optional(proofShape),
  ...circumstances,
});
export type RespondRequest = Static<typeof respondShape>;

const promoAction = Type.Object({
  promo_id: id('The promo'),
  version: Type.Optional(Type.Integer({ ...version, description: 'As /v1/engage said; absent: the newest' })),
  impression_id: uuid('One for each time it is shown; for what a server redeems, one for each order'),
  token: Type.Optional(text(200, 'As /v1/engage said; a key for servers needs none to redeem')),
  action: Type.Enum(['view', 'click', 'dismiss', 'copy_code', 'redeem'], { description: 'What the visitor did' }),
  value: Type.Optional(Type.Number({ description: 'For redeem: what the order is worth' })),
  currency: Type.Optional(text(3, 'For redeem')),
  ...circumstances,
});
export type PromoAction = Static<typeof promoAction>;

/** Body of POST /v1/promos/track: one action, or up to 20 as events. */
export const trackShape = Type.Object({
  ...Object.fromEntries(Object.entries(promoAction.properties).map(([name, each]) => [name, Type.Optional(each)])),
  events: Type.Optional(Type.Array(promoAction, { minItems: 1, maxItems: 20, description: 'In the place of one' })),
});
/** One action by itself. */
export const promoActionShape = promoAction;

/** Body of POST /v1/form as JSON. */
export const formRequestShape = Type.Object({
  form_id: id('The form'),
  version: Type.Optional(version),
  submission_id: Type.Optional(uuid('One for each time it is filled in')),
  token: Type.Optional(token),
  status: Type.Optional(
    Type.Enum(['shown', 'submitted', 'dismissed'], { default: 'submitted', description: 'How far the visitor is' }),
  ),
  fields: Type.Optional(
    Type.Record(
      Type.String({ maxLength: 64 }),
      Type.Union([Type.String({ maxLength: 5000 }), Type.Number(), Type.Boolean(), Type.Null()]),
      { maxProperties: FIELDS_SENT_MAX, description: 'By name; those that the form does not have are left out' },
    ),
  ),
  consent: Type.Optional(
    Type.Object({
      process: Type.Optional(Type.Boolean()),
      marketing: Type.Optional(Type.Boolean()),
      text_version: Type.Optional(text(64, 'Of the text that the visitor read')),
    }),
  ),
  challenge: Type.Optional(proofShape),
  ...circumstances,
});
export type FormRequest = Static<typeof formRequestShape>;

export type RequestRead<Body> = { ok: true; body: Body } | { ok: false; field: string };

/** A reader of bodies of a shape. A refusal names the field at fault, and never what was sent. */
export function bodyReader<Shape extends TObject>(shape: Shape): (body: unknown) => RequestRead<Static<Shape>> {
  const validator: Validator = Compile(shape);
  const limits = membersLimits(shape);
  return (body) => {
    const tooMany = limits.find(([name, max]) => membersOf(body, name) > max);
    if (tooMany !== undefined) return { ok: false, field: tooMany[0] };
    if (validator.Check(body)) return { ok: true, body: body as Static<Shape> };
    const [error] = validator.Errors(body);
    const missing = error?.keyword === 'required' ? `/${error.params.requiredProperties[0] ?? ''}` : '';
    return { ok: false, field: fieldOf(`${error?.instancePath ?? ''}${missing}`) };
  };
}

/** Of the lists and maps of a body how many members each takes: known before any member is looked at. */
function membersLimits({ properties }: TObject): [name: string, max: number][] {
  return Object.entries(properties as Record<string, { maxItems?: number; maxProperties?: number }>).flatMap(
    ([name, { maxItems, maxProperties }]) => {
      const max = maxItems ?? maxProperties;
      return max === undefined ? [] : [[name, max]];
    },
  );
}

function membersOf(body: unknown, name: string): number {
  const value = (body as Record<string, unknown> | null)?.[name];
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}

const MAPS: ReadonlySet<string> = new Set(['seen', 'fields']);

/** Of the path only names of ours: a key of a map is the sender's text. */
function fieldOf(path: string): string {
  const parts = path.split('/').slice(1);
  const isMap = MAPS.has(parts[0] ?? '');
  return (isMap ? parts.slice(0, 1) : parts).join('.');
}
