const page = { url: 'https://shop.example/thanks?utm_source=newsletter', title: 'Thank you' };
const visitor = {
  distinct_id: 'visitor-1',
  consent: { analytics: true, ads: false },
  locale: 'nl-BE',
  device: 'mobile',
};
const token = 'mhx3k2a1.Zm9vYmFyMTIz.kq0Zr1V8b2s5n7T9wXyLgA';

/** Bodies as a page would send them; the token is one that /v1/engage would have handed out. */
export const ENGAGE_EXAMPLE = {
  page,
  visitor,
  seen: { 'survey:after-purchase': { n: 1, last: Date.UTC(2026, 10, 20) } },
};

export const RESPOND_EXAMPLE = {
  survey_id: 'after-purchase',
  version: 1,
  submission_id: '0192f6a1-5f0e-7c33-9a51-5b0c6a2f7d10',
  token,
  status: 'completed',
  answers: [
    { question_id: 'nps', value: 8 },
    { question_id: 'why', value: 'delivery' },
  ],
  page,
  visitor,
};

export const TRACK_EXAMPLE = {
  promo_id: 'winter-sale',
  version: 1,
  impression_id: '0192f6a1-5f0e-7c33-9a51-5b0c6a2f7d11',
  token,
  action: 'click',
  page,
  visitor,
};

export const FORM_EXAMPLE = {
  form_id: 'quote',
  version: 1,
  submission_id: '0192f6a1-5f0e-7c33-9a51-5b0c6a2f7d12',
  token,
  fields: { email: 'me@example.com', size: 'small', message: 'What do forty chairs cost?' },
  consent: { process: true, text_version: '2026-11' },
  page,
  visitor,
};

/** The same, as a plain HTML form sends it. */
export const PLAIN_FORM_EXAMPLE = {
  _form_id: FORM_EXAMPLE.form_id,
  _page: page.url,
  _consent: 'on',
  ...FORM_EXAMPLE.fields,
};
