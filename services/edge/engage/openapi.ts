// Surveys, promos and forms in the OpenAPI document.

import { type TSchema, Type } from 'typebox';
import { ENGAGE_KINDS } from '#pipelines/engage/definition_fields.ts';
import {
  engageShape,
  formRequestShape,
  promoActionShape,
  respondShape,
  trackShape,
} from '#pipelines/engage/engage_request.ts';
import type { DocumentedResponse, DocumentedRoute } from '#pipelines/openapi.ts';
import { BODY_ERRORS, failures, jsonBody, KEY_ERRORS, KEYED } from '../openapi_shapes.ts';

const TAG = 'Surveys, promos and forms';

const itemShape = Type.Object({
  kind: Type.Enum([...ENGAGE_KINDS]),
  id: Type.String(),
  version: Type.Integer({ description: 'To be sent back with what the visitor does' }),
  locale: Type.String({ description: 'The language of its texts' }),
  show: Type.Object({}, { description: 'What makes it appear, as in its definition' }),
  place: Type.Enum(['popover', 'banner', 'inline', 'modal']),
  mount: Type.String({ description: 'For inline: selector of the element it appears in' }),
  theme: Type.Object({}, { description: 'Colours and lengths, as in its definition' }),
  dir: Type.Enum(['ltr', 'rtl'], { description: 'The direction its language is written in' }),
  label: Type.String({ description: 'What it is called by those who do not see it' }),
  words: Type.Record(Type.String(), Type.String(), {
    description: 'What no definition has a text for, as next and close',
  }),
  content: Type.Object({}, { description: 'Texts, questions or fields, as in its definition' }),
  token: Type.String({ description: 'To be sent back; good for 24 hours and one showing' }),
});
const shownShape = Type.Object({
  items: Type.Array(itemShape, { description: 'The most important first', maxItems: 5 }),
  over: Type.Array(Type.String(), { description: 'Of what the page has open, what is not for it: to be closed' }),
  next_check_ms: Type.Integer({ description: 'After which a page that stays open asks again' }),
});
const takenShape = Type.Object({
  accepted: Type.Integer({ description: '1, or 0 for what is taken for spam or a robot', minimum: 0 }),
  event_id: Type.Optional(Type.String({ description: 'The same again has the same' })),
});
const challengeShape = Type.Object(
  {
    algorithm: Type.Literal('SHA-256'),
    salt: Type.String(),
    challenge: Type.String(),
    maxnumber: Type.Integer(),
    signature: Type.String(),
  },
  {
    description:
      'In doubt: find the number up to maxnumber for which the hexadecimal SHA-256 of salt and number is challenge, and send the same again with it',
  },
);
const answeredShape = Type.Object({ ...takenShape.properties, challenge: Type.Optional(challengeShape) });
const formTakenShape = Type.Object({
  ...answeredShape.properties,
  message: Type.Optional(Type.String({ description: 'What the definition has to say' })),
  redirect: Type.Optional(Type.String({ description: 'Where the definition leads' })),
});

const plainFormShape = Type.Object(
  {
    _form_id: Type.String(),
    _version: Type.Optional(Type.String({ description: 'Of the definition that the page shows' })),
    _submission_id: Type.Optional(Type.String()),
    _token: Type.Optional(Type.String()),
    _page: Type.Optional(
      Type.String({ description: 'The address of the page, of which the referrer tells the origin alone' }),
    ),
    _distinct_id: Type.Optional(Type.String()),
    _session_id: Type.Optional(Type.String()),
    _consent: Type.Optional(Type.String({ description: 'A ticked box' })),
    _marketing: Type.Optional(Type.String({ description: 'A ticked box' })),
    _charset_: Type.Optional(Type.String({ description: 'The coding of the page, which browsers fill in' })),
  },
  {
    additionalProperties: Type.String(),
    description:
      'What a plain HTML form sends: fields of the definition by their names, and those of ours, which begin with _',
  },
);
const exampleToken = 'mhx3k2a1.Zm9vYmFyMTIz.kq0Zr1V8b2s5n7T9wXyLgA';

const examplePage = { url: 'https://shop.example/thanks?utm_source=newsletter', title: 'Thank you' };
const exampleVisitor = {
  distinct_id: 'visitor-1',
  consent: { analytics: true, ads: false },
  locale: 'nl-BE',
  device: 'mobile',
};

const FORM_EXAMPLE = {
  form_id: 'quote',
  version: 1,
  submission_id: '0192f6a1-5f0e-7c33-9a51-5b0c6a2f7d12',
  token: exampleToken,
  fields: { email: 'me@example.com', size: 'small', message: 'What do forty chairs cost?' },
  consent: { process: true, text_version: '2026-11' },
  page: examplePage,
  visitor: exampleVisitor,
};

/** The same, as a plain HTML form sends it. */
const PLAIN_FORM_EXAMPLE = {
  _form_id: FORM_EXAMPLE.form_id,
  _page: examplePage.url,
  _consent: 'on',
  ...FORM_EXAMPLE.fields,
};

const plainFormBody = {
  contentTypes: ['application/x-www-form-urlencoded', 'multipart/form-data'],
  schema: plainFormShape,
  example: PLAIN_FORM_EXAMPLE,
};

/** The routes of surveys, promos and forms as they are documented. */
export function engageDocs(): DocumentedRoute[] {
  const own = [...KEY_ERRORS, ...BODY_ERRORS, 'engage_invalid', 'rate_limited'] as const;
  const taking = [...own, 'engage_unknown', 'events_rejected'] as const;
  const ok = (description: string, schema: TSchema): DocumentedResponse => ({ status: 200, description, schema });
  return [
    {
      ...KEYED,
      method: 'POST',
      path: '/v1/engage',
      operationId: 'engage',
      tag: TAG,
      summary: 'Ask what a visitor is shown on a page',
      body: jsonBody(engageShape, ENGAGE_EXAMPLE),
      responses: [
        ok('What is shown here, and now', shownShape),
        { status: 204, description: 'The site has nothing to show anywhere', schema: null },
        ...failures(own),
      ],
    },
    {
      ...KEYED,
      method: 'POST',
      path: '/v1/surveys/respond',
      operationId: 'respondToSurvey',
      tag: TAG,
      summary: 'Tell that a survey was shown, answered or dismissed',
      body: jsonBody(respondShape, RESPOND_EXAMPLE),
      responses: [ok('What became of it', answeredShape), ...failures([...taking, 'not_taken_now'])],
    },
    {
      ...KEYED,
      method: 'POST',
      path: '/v1/promos/track',
      operationId: 'trackPromos',
      tag: TAG,
      summary: 'Tell what visitors did with promos',
      body: jsonBody(Type.Union([promoActionShape, trackShape]), TRACK_EXAMPLE),
      responses: [ok('How many are stored', Type.Pick(takenShape, ['accepted'])), ...failures(taking)],
    },
    {
      ...KEYED,
      method: 'POST',
      path: '/v1/form',
      operationId: 'submitForm',
      tag: TAG,
      summary: 'Send a form, with a script or as a plain HTML form',
      body: { ...jsonBody(formRequestShape, FORM_EXAMPLE), otherwise: plainFormBody },
      responses: [
        ok(
          'What became of it. A plain form gets a page (text/html) that says the message of the definition, where that has no redirect; spam gets the same',
          formTakenShape,
        ),
        {
          status: 303,
          description:
            'A plain form is led to `redirect` of the definition where it was taken, and to `redirect_invalid` where a field is not right',
          schema: null,
          headers: { Location: 'Of the definition' },
        },
        ...failures([...taking, 'form_invalid', 'not_taken_now']).map(toldToVisitors),
      ],
    },
  ];
}

/** What the page says that a visitor gets after a plain form, in the place of JSON. */
const PAGES: Readonly<Record<number, string>> = {
  400: 'A plain form gets a page (text/html): with a field that is not right one that names the fields, in the language of the form.',
  415: 'A plain form gets a page (text/html).',
  404: 'A plain form gets a page (text/html), in the language of the browser.',
  413: 'A plain form gets a page (text/html), in the language of the browser.',
  429: 'A plain form gets a page (text/html) that says to come again later, with `Retry-After`: beyond the rate of its address or key; where too many without a token came from its address, its network or for this form in 10 minutes; and where there is doubt about it, as it can bring no proof.',
  503: 'A plain form gets a page (text/html) that says to come again later.',
};

function toldToVisitors(response: DocumentedResponse): DocumentedResponse {
  const page = PAGES[response.status];
  return page === undefined ? response : { ...response, description: `${response.description}\n\n${page}` };
}

/** Bodies as a page would send them; the token is one that /v1/engage would have handed out. */
const ENGAGE_EXAMPLE = {
  page: examplePage,
  visitor: exampleVisitor,
  seen: { 'survey:after-purchase': { n: 1, last: Date.UTC(2026, 10, 20) } },
};

const RESPOND_EXAMPLE = {
  survey_id: 'after-purchase',
  version: 1,
  submission_id: '0192f6a1-5f0e-7c33-9a51-5b0c6a2f7d10',
  token: exampleToken,
  status: 'completed',
  answers: [
    { question_id: 'nps', value: 8 },
    { question_id: 'why', value: 'delivery' },
  ],
  page: examplePage,
  visitor: exampleVisitor,
};

const TRACK_EXAMPLE = {
  promo_id: 'winter-sale',
  version: 1,
  impression_id: '0192f6a1-5f0e-7c33-9a51-5b0c6a2f7d11',
  token: exampleToken,
  action: 'click',
  page: examplePage,
  visitor: exampleVisitor,
};
