import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RateLimiter } from '#services/edge/admission.ts';
import { FORM, PROMO } from '#test/unit/engage/samples.ts';
import { put } from '#test/unit/settings/filled_table.ts';
import { site } from '#test/unit/settings/samples.ts';
import { openShopWindow, PAGE, type ShopWindow } from './shop_window.ts';

const FIELDS = [
  { name: 'email', type: 'email', label: 'E-mail', required: true, map: 'email' },
  { name: 'phone', type: 'tel', label: 'Phone', map: 'phone' },
  { name: 'worth', type: 'number', label: 'Budget', map: 'value' },
  { name: 'size', type: 'select', label: 'Size', options: [{ id: 'small', label: 'Small' }], store: 'keep' },
  { name: 'customer', type: 'text', label: 'Customer number', store: 'hash' },
  { name: 'subject', type: 'text', label: 'Subject', store: 'keep' },
  { name: 'message', type: 'textarea', label: 'Message' },
];
const DEFINITION = { ...FORM, fields: FIELDS, currency: 'EUR', frequency: { max_times: null } };
const EMAIL = 'jane.doe@mail.example';
const PHONE = '+32 475 12 34 56';

let edge: ShopWindow;
beforeEach(async () => {
  edge = await openShopWindow();
  edge.define('form', DEFINITION);
});
afterEach(() => edge.close());

const propertiesOf = (event: { properties: string } | undefined) => JSON.parse(event?.properties ?? '{}');

function filledIn(fields: object = {}, more: object = {}) {
  const token = edge.token('form', 'quote');
  const sent = { email: EMAIL, ...fields };
  return { form_id: 'quote', submission_id: randomUUID(), token, fields: sent, page: PAGE, ...more };
}

describe('POST /v1/form', () => {
  it('is a lead: identifiers hashed, of the other fields what the definition keeps', async () => {
    const fields = {
      phone: PHONE,
      worth: '250',
      size: 'small',
      customer: 'C-77',
      subject: 'Boats',
      message: 'secret words',
      more: 'x',
    };
    const consent = { process: true, marketing: false, text_version: '2026-11' };
    const sent = filledIn(fields, { consent, visitor: { distinct_id: 'v1' } });
    const { status, body } = await edge.post('/v1/form', sent);
    expect({ status, body }).toEqual({
      status: 200,
      body: { accepted: 1, event_id: `${sent.submission_id}:form:quote:submitted` },
    });
    const [event] = edge.events();
    expect(event).toMatchObject({
      event: 'generate_lead',
      event_id: `${sent.submission_id}:form:quote:submitted`,
      value: 250,
      currency: 'EUR',
      identify: true,
    });
    expect(event?.identifiers).toMatchObject({
      email: expect.stringMatching(/^[0-9a-f]{64}$/),
      phone: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(propertiesOf(event)).toMatchObject({
      ...{
        form_id: 'quote',
        form_version: 1,
        submission_id: sent.submission_id,
        field_size: 'small',
        field_subject: 'Boats',
      },
      ...{ field_customer: expect.stringMatching(/^h_[0-9a-f]{64}$/), utm_source: 'news' },
      ...{ consent_process: true, consent_marketing: false, consent_version: '2026-11' },
    });
    expect(JSON.stringify(event)).not.toMatch(/jane|475 ?12 ?34|secret words|C-77/);
  });

  it('keeps a value that is no number, or none that holds it, as the text that was written', async () => {
    const worth = { name: 'worth', type: 'text', label: 'Budget', map: 'value' };
    edge.define('form', { ...DEFINITION, fields: [FIELDS[0], worth] });
    for (const [written, value, kept] of [
      ['9007199254740993', 2 ** 53, '9007199254740993'],
      ['12,50', null, '12,50'],
      ['0x10', null, '0x10'],
    ] as const) {
      expect(await edge.post('/v1/form', filledIn({ worth: written }))).toMatchObject({ status: 200 });
      const event = edge.events().at(-1);
      expect({ value: event?.value, kept: propertiesOf(event).value }, written).toEqual({ value, kept });
    }
  });

  it('says message and redirect of the definition, and takes the name of its event from there', async () => {
    const redirect = 'https://shop.example/thanks';
    edge.define('form', { ...DEFINITION, message: 'Thank you', redirect, conversion_event: 'quote_requested' });
    expect((await edge.post('/v1/form', filledIn())).body).toMatchObject({
      accepted: 1,
      message: 'Thank you',
      redirect,
    });
    expect(edge.events()[0]?.event).toBe('quote_requested');
  });

  it.each([
    [{ email: '' }, { name: 'email', code: 'required' }],
    [{ email: 'jane' }, { name: 'email', code: 'format' }],
    [{ phone: 'none' }, { name: 'phone', code: 'format' }],
    [{ worth: 'much' }, { name: 'worth', code: 'format' }],
    [{ size: 'huge' }, { name: 'size', code: 'format' }],
    [{ subject: 'x'.repeat(501) }, { name: 'subject', code: 'too_long' }],
  ])('names the field of %j that is wrong', async (fields, problem) => {
    const { status, body } = await edge.post('/v1/form', filledIn(fields));
    expect({ status, code: body.error.code, fields: body.error.fields }).toEqual({
      status: 400,
      code: 'form_invalid',
      fields: [problem],
    });
    expect(edge.events()).toEqual([]);
  });

  it('asks for consent where the definition does', async () => {
    edge.define('form', { ...DEFINITION, consent_required: true, consent_text: 'We answer you.' });
    const consent = { name: 'consent', code: 'required' };
    expect((await edge.post('/v1/form', filledIn())).body.error.fields).toEqual([consent]);
    expect((await edge.post('/v1/form', filledIn({}, { consent: { process: true } }))).body.accepted).toBe(1);
  });

  it('that changed while it was open keeps what it was asked for', async () => {
    const sent = filledIn({ size: 'small', subject: 'Boats' });
    const changed = FIELDS.map((field) =>
      field.name === 'size' ? { ...field, required: true, options: [{ id: 'large', label: 'Large' }] } : field,
    );
    const added = { name: 'branch', type: 'text', label: 'Branch', required: true };
    edge.define('form', { ...DEFINITION, fields: [...changed, added] }, 2);
    expect((await edge.post('/v1/form', { ...sent, version: 1 })).body.accepted).toBe(1);
    const properties = propertiesOf(edge.events()[0]);
    expect(properties).toMatchObject({ form_version: 1, field_subject: 'Boats' });
    expect(properties).not.toHaveProperty('field_size');
    const wrong = filledIn({ email: 'jane' }, { version: 1 });
    expect((await edge.post('/v1/form', wrong)).body.error.fields).toEqual([{ name: 'email', code: 'format' }]);
  });

  it('has one id however often it is clicked', async () => {
    const sent = filledIn();
    const answers = await Promise.all([1, 2, 3].map(() => edge.post('/v1/form', sent)));
    expect(new Set(answers.map(({ body }) => body.event_id))).toEqual(
      new Set([`${sent.submission_id}:form:quote:submitted`]),
    );
  });

  it('is another event than that of another form under the same id', async () => {
    edge.define('form', { ...DEFINITION, id: 'lead' });
    const sent = filledIn();
    expect((await edge.post('/v1/form', sent)).body.accepted).toBe(1);
    const other = { ...sent, form_id: 'lead', token: edge.token('form', 'lead') };
    expect((await edge.post('/v1/form', other)).body.accepted).toBe(1);
    expect(new Set(edge.events().map(({ event_id }) => event_id)).size).toBe(2);
  });

  it.each([
    [{ timestamp: 'yesterday' }, 'timestamp'],
    [{ visitor: { distinct_id: 'v\u0001' } }, 'visitor.distinct_id'],
  ])('is refused for %j, and its token is as good as before', async (wrong, field) => {
    const sent = filledIn();
    const { status, body } = await edge.post('/v1/form', { ...sent, ...wrong });
    expect([status, body.error.code, body.error.field]).toEqual([400, 'engage_invalid', field]);
    expect((await edge.post('/v1/form', { ...sent, submission_id: randomUUID() })).body.accepted).toBe(1);
  });

  it.each(['shown', 'dismissed'])('tells that it was %s, and is not shown again', async (status) => {
    edge.define('form', { ...DEFINITION, frequency: { max_times: 1 } });
    const visitor = { distinct_id: 'v1' };
    const sent = filledIn({}, { status, visitor });
    expect((await edge.post('/v1/form', sent)).body).toMatchObject({
      accepted: 1,
      event_id: `${sent.submission_id}:form:quote:${status}`,
    });
    expect(edge.events()[0]).toMatchObject({ event: `form_${status}`, identifiers: null });
    expect((await edge.post('/v1/engage', { page: PAGE, visitor })).body.items).toEqual([]);
  });

  it.each(['shown', 'dismissed'])('tells that it was %s once for a token', async (status) => {
    const sent = filledIn({}, { status });
    expect((await edge.post('/v1/form', sent)).body.accepted).toBe(1);
    for (let at = 0; at < 3; at += 1) {
      expect((await edge.post('/v1/form', { ...sent, submission_id: randomUUID() })).body).toEqual({ accepted: 0 });
    }
    expect(edge.events()).toHaveLength(1);
    expect(await edge.metrics.text()).toMatch(
      /svc_edge_engage_spam_total\{kind="form",reason="token_used",stage="edge"\} 3/,
    );
  });

  it('of a form that is not there is refused, a promo of its name included', async () => {
    edge.define('promo', { ...PROMO, id: 'other' });
    expect(await edge.post('/v1/form', filledIn({}, { form_id: 'other' }))).toMatchObject({ status: 404 });
  });

  it('is 503 where Kafka does not take it, and goes through when it is sent again', async () => {
    const sent = filledIn();
    edge.answers.push(Promise.resolve({ ok: false, code: 'not_acknowledged' }));
    expect((await edge.post('/v1/form', sent)).status).toBe(503);
    expect((await edge.post('/v1/form', sent)).body.accepted).toBe(1);
  });
});

describe('a form that is over the allowance, or that a rule of the site blocks', () => {
  const unable = { code: 'not_taken_now' };

  it('is never thanked for: a script is told to send it later, and a person to come again', async () => {
    put(edge.table, { site: site({ block_rules: [{ kind: 'event', value: 'generate_lead', property: null }] }) });
    const sent = await edge.post('/v1/form', filledIn());
    expect(sent).toMatchObject({ status: 503, body: { error: unable } });
    expect(sent.headers.get('retry-after')).toBe('600');
    const redirect = 'https://shop.example/thanks';
    edge.define('form', { ...DEFINITION, redirect });
    const page = await edge.post('/v1/form', new URLSearchParams({ _form_id: 'quote', email: EMAIL }).toString());
    expect(page.status).toBe(503);
    expect(page.headers.get('location')).toBeNull();
    expect(page.headers.get('retry-after')).toBe('600');
    expect(page.body).toContain('<p>Please try again later</p>');
    const shown = await edge.post('/v1/form', filledIn({}, { status: 'shown' }));
    expect(shown.status).toBe(200);
  });

  it('is kept by the visitor’s browser for the next month', async () => {
    const rateLimiter: RateLimiter = {
      limited: () => null,
      admit: async () => ({
        ok: true,
        rate: null,
        reservation: { accountId: 'acme', month: '2026-11', granted: 0, lease: '' },
      }),
      release: () => undefined,
      markUncertain: () => undefined,
      charge: async () => undefined,
      isShared: () => true,
      stop: () => undefined,
    };
    const spent = await openShopWindow({ rateLimiter });
    try {
      spent.define('form', DEFINITION);
      const sent = { ...filledIn(), token: spent.token('form', 'quote') };
      expect(await spent.post('/v1/form', sent)).toMatchObject({ status: 503, body: { error: unable } });
      const shown = { ...sent, status: 'shown' };
      expect(await spent.post('/v1/form', shown)).toMatchObject({ status: 200, body: { accepted: 0 } });
    } finally {
      await spent.close();
    }
  });
});

describe('more fields than any form has', () => {
  const NAMES = Array.from({ length: 6_700 }, (_, at) => at.toString(36));
  const many = Object.fromEntries(NAMES.slice(0, 3_500).map((name) => [name, 0]));
  it.each([
    ['a form by a script', '/v1/form', { form_id: 'quote', fields: many }, 'fields'],
    ['a survey', '/v1/surveys/respond', { answers: NAMES.map(() => 1) }, 'answers'],
    ['promos', '/v1/promos/track', { events: NAMES.map(() => 1) }, 'events'],
    ['a visitor', '/v1/engage', { page: PAGE, seen: many }, 'seen'],
  ])('in %s are refused by their count', async (_, path, body, field) => {
    const answer = await edge.post(path, body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'engage_invalid', field } } });
  });
});

describe('a plain HTML form', () => {
  const plain = (fields: Record<string, string> = {}): string =>
    new URLSearchParams({ _form_id: 'quote', email: EMAIL, subject: 'Boats', ...fields }).toString();

  it('is taken without token and led where the definition says, and nowhere else', async () => {
    edge.define('form', { ...DEFINITION, redirect: 'https://shop.example/thanks' });
    const { status, headers } = await edge.post(
      '/v1/form',
      plain({ redirect: 'https://evil.example/', _redirect: 'x' }),
    );
    expect({ status, location: headers.get('location') }).toEqual({
      status: 303,
      location: 'https://shop.example/thanks',
    });
    expect(edge.events()[0]).toMatchObject({ event: 'generate_lead', identifiers: { email: expect.any(String) } });
  });

  describe('says its page', () => {
    const LANDING = 'https://shop.example/contact?utm_source=letter&utm_medium=email';
    const told = async (fields: Record<string, string>, headers: Record<string, string> = {}) => {
      await edge.post('/v1/form', plain(fields), headers);
      const { $current_url: url, utm_source, utm_medium } = propertiesOf(edge.events().at(-1));
      return [url, utm_source, utm_medium];
    };

    it('itself, where browsers tell nothing but its origin', async () => {
      const referer = { referer: 'https://shop.example/' };
      expect(await told({ _page: LANDING }, referer)).toEqual([LANDING, 'letter', 'email']);
      expect(await told({ _page: '/contact?utm_source=letter' }, referer)).toEqual([
        'https://shop.example/contact?utm_source=letter',
        'letter',
        undefined,
      ]);
      expect(await told({}, { referer: LANDING })).toEqual([LANDING, 'letter', 'email']);
    });

    it('and its campaign, where the address does not say it', async () => {
      const campaign = { utm_source: 'hidden', utm_medium: '', utm_term: 'x'.repeat(201) };
      expect(await told(campaign, { referer: 'https://shop.example/' })).toEqual([
        'https://shop.example/',
        'hidden',
        undefined,
      ]);
      expect(await told({ ...campaign, _page: LANDING })).toEqual([LANDING, 'letter', 'email']);
    });

    it('of its own origin, or of one that the key may be used from, and of no other', async () => {
      await edge.close();
      edge = await openShopWindow({ browserOrigins: ['https://shop.example', 'https://*.shop.example'] });
      edge.define('form', DEFINITION);
      const referer = { referer: 'https://shop.example/' };
      expect(await told({ _page: 'https://www.shop.example/a' }, referer)).toEqual([
        'https://www.shop.example/a',
        undefined,
        undefined,
      ]);
      for (const _page of ['https://evil.example/', 'data:text/plain,x', 'javascript:1', 'https://['])
        expect(await told({ _page }, referer)).toEqual(['https://shop.example/', undefined, undefined]);
    });
  });

  it('sent twice from one device is one', async () => {
    await edge.post('/v1/form', plain());
    await edge.post('/v1/form', plain());
    await edge.post('/v1/form', plain({ subject: 'Cars' }));
    await edge.post('/v1/form', plain({ _distinct_id: 'another' }));
    const ids = edge.events().map(({ event_id }) => event_id);
    expect(ids[0]).toBe(ids[1]);
    expect(new Set(ids).size).toBe(3);
  });

  it('sent again from one device on another day is another one', async () => {
    await edge.post('/v1/form', plain());
    edge.clock.nowMs += 86_400_000;
    await edge.post('/v1/form', plain());
    expect(new Set(edge.events().map(({ event_id }) => event_id)).size).toBe(2);
  });

  it('without a redirect is answered by a page of text that runs nothing', async () => {
    edge.define('form', { ...DEFINITION, message: '<b>Thanks</b>', title: 'Quote & more' });
    const { status, body, headers } = await edge.post('/v1/form', plain());
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('text/html');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'");
    expect(body).toContain('<h1>Quote &amp; more</h1><p>&lt;b&gt;Thanks&lt;/b&gt;</p>');
  });

  it.each([
    [{}, '<h1>Thank you</h1></main>'],
    [{ message: 'We call you.' }, '<h1>Thank you</h1><p>We call you.</p></main>'],
    [{ title: 'A quote' }, '<h1>A quote</h1><p>Thank you</p></main>'],
  ])('says nothing of what the form is called by those who work with it: %j', async (texts, page) => {
    edge.define('form', { ...DEFINITION, ...texts, name: 'internal' });
    const { body } = await edge.post('/v1/form', plain());
    expect(body).toContain(page);
    expect(body + (await edge.post('/v1/form', plain({ email: 'jane' }))).body).not.toContain('internal');
  });

  it('that is not right names its fields as the visitor knows them, or leads where the definition says', async () => {
    const { status, body } = await edge.post('/v1/form', plain({ email: 'jane' }));
    expect({ status, said: body.includes('<p>E-mail</p>') }).toEqual({ status: 400, said: true });
    expect(body).toContain('<h1>The form could not be sent</h1><p>Please check this:</p>');
    edge.define('form', { ...DEFINITION, redirect_invalid: 'https://shop.example/again' });
    const led = await edge.post('/v1/form', plain({ email: 'jane' }));
    expect({ status: led.status, location: led.headers.get('location') }).toEqual({
      status: 303,
      location: 'https://shop.example/again?svc_invalid=email%3Aformat',
    });
  });

  it('that is not right is told so in the form’s language and its direction', async () => {
    edge.define('form', { ...DEFINITION, locale: 'ar' });
    const { body } = await edge.post('/v1/form', plain({ email: 'jane' }));
    expect(body).toContain('<html lang="ar" dir="rtl">');
    expect(body).toContain('<h1>تعذر إرسال النموذج</h1>');
  });

  it('of a form that is not there, or too large, is told to its sender in the browser’s language', async () => {
    const gone = await edge.post('/v1/form', plain({ _form_id: 'gone' }), { 'accept-language': 'de-AT, en;q=0.5' });
    expect({ status: gone.status, type: gone.headers.get('content-type') }).toEqual({
      status: 404,
      type: 'text/html; charset=utf-8',
    });
    expect(gone.body).toContain('<p>Dieses Formular gibt es nicht mehr</p>');
    const large = await edge.post('/v1/form', plain({ subject: 'x'.repeat(70_000) }));
    expect({ status: large.status, isPage: String(large.body).includes('<h1>') }).toEqual({
      status: 413,
      isPage: true,
    });
  });

  it.each([
    ['a type that no form has', '{}', { 'content-type': 'application/xml', accept: 'text/html' }, 415, 'Send'],
    ['text/plain', '_form_id=quote\r\n', { 'content-type': 'text/plain', accept: 'text/html,*/*' }, 400, 'JSON'],
    ['no form', 'subject=a', {}, 400, 'form_id'],
    ['too many fields', `_form_id=quote&${'a=&'.repeat(201)}`, {}, 400, 'fields'],
    ['parts that are none', 'x', { 'content-type': 'multipart/form-data; boundary=y' }, 400, 'could not be'],
  ])('of %s is told so by a page', async (_what, sent, headers, status, said) => {
    const answer = await edge.post('/v1/form', sent, headers as Record<string, string>);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8']);
    expect(answer.body).toContain('<h1>The form could not be sent</h1>');
    expect(answer.body).toContain(said);
  });

  it('may come as multipart/form-data, of which files are left out', async () => {
    edge.define('form', { ...DEFINITION, redirect: 'https://shop.example/thanks' });
    const form = new FormData();
    for (const [name, value] of new URLSearchParams(plain({ subject: 'Bögen' }))) form.append(name, value);
    form.append('message', new File(['secret'], 'a.txt'));
    const url = `${edge.url}/v1/form?key=${edge.browserKey}`;
    const { origin } = new URL('https://shop.example/');
    const headers = { origin, 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' };
    const answer = await fetch(url, { method: 'POST', body: form, headers, redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, 'https://shop.example/thanks']);
    expect(propertiesOf(edge.events()[0])).toMatchObject({ field_subject: 'Bögen' });
    expect(JSON.stringify(edge.events())).not.toContain('secret');
  });

  it('says what was agreed to by its boxes', async () => {
    await edge.post('/v1/form', plain({ _consent: 'on' }));
    expect(propertiesOf(edge.events()[0])).toMatchObject({ consent_process: true, consent_marketing: false });
  });

  describe('says both purposes of consent', () => {
    const consentOf = () => propertiesOf(edge.events().at(-1))['$consent'];
    const asking = { tag: { ...site().tag, consent_required: true } };

    it.each([
      [{}, { analytics: false, ads: false }],
      [{ _consent: 'on' }, { analytics: true, ads: false }],
      [
        { _consent: 'on', _marketing: 'on' },
        { analytics: true, ads: true },
      ],
    ])('where the site asks for it: %j', async (boxes, consent) => {
      put(edge.table, { site: site(asking) });
      await edge.post('/v1/form', plain(boxes));
      expect(consentOf()).toEqual(consent);
    });

    it('where the site does not ask, by the box for marketing, and nothing without it', async () => {
      await edge.post('/v1/form', plain({ _consent: 'on' }));
      expect(consentOf()).toBeUndefined();
      await edge.post('/v1/form', plain({ subject: 'Cars', _marketing: 'no' }));
      expect(consentOf()).toEqual({ analytics: true, ads: false });
    });

    it('by a hidden field before the box, which a ticked box overrules', async () => {
      await edge.post('/v1/form', `${plain({ subject: 'Trucks' })}&_marketing=0`);
      expect(consentOf()).toEqual({ analytics: true, ads: false });
      await edge.post('/v1/form', `${plain({ subject: 'Vans' })}&_marketing=0&_marketing=on`);
      expect(consentOf()).toEqual({ analytics: true, ads: true });
    });

    it.each([
      [{ ads: true, analytics: true }, true, { analytics: true, ads: true }],
      [{ ads: true, analytics: true }, false, { analytics: true, ads: false }],
      [{ ads: false, analytics: true }, true, { analytics: true, ads: false }],
      [undefined, false, { analytics: true, ads: false }],
    ])('by the box for marketing of a form that a script shows: %j, %j', async (said, marketing, consent) => {
      edge.define('form', { ...DEFINITION, marketing_text: 'You may send me offers.' });
      const { body } = await edge.post('/v1/engage', { page: PAGE });
      const box = body.items[0].content.fields.at(-1);
      expect(box).toMatchObject({ type: 'checkbox', label: 'You may send me offers.', required: false });
      await edge.post('/v1/form', filledIn({ [box.name]: marketing }, { visitor: { consent: said } }));
      expect(propertiesOf(edge.events().at(-1))).toMatchObject({ $consent: consent, consent_marketing: marketing });
      expect(propertiesOf(edge.events().at(-1))).not.toHaveProperty(`field_${box.name}`);
    });

    it('by a script that says nothing of it as well, where the site asks', async () => {
      put(edge.table, { site: site(asking) });
      await edge.post('/v1/form', filledIn());
      expect(consentOf()).toEqual({ analytics: false, ads: false });
    });
  });

  it.each([
    ['windows-1252, by its bytes', 'subject=caf%E9+%80+5&message=d\xe9j\xe0', 'café € 5'],
    ['another coding, by its name', '_charset_=iso-8859-2&subject=%B3%F3d%BC', 'łódź'],
    ['UTF-8', 'subject=caf%C3%A9+%E2%82%AC', 'café €'],
    ['UTF-8, though it says no coding that there is', '_charset_=none&subject=caf%C3%A9', 'café'],
    ['what no escape is', 'subject=100%+%zz', '100% %zz'],
  ])('of a page in %s', async (_what, fields, subject) => {
    const body = Buffer.from(`_form_id=quote&email=jane.doe%40mail.example&${fields}`, 'latin1');
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    await fetch(`${edge.url}/v1/form?key=${edge.browserKey}`, { method: 'POST', headers, body });
    expect(propertiesOf(edge.events()[0]).field_subject).toBe(subject);
  });

  it('counts a line break once, as the browser does for maxlength', async () => {
    edge.define('form', { ...DEFINITION, fields: [{ ...FIELDS[6], max_length: 20, store: 'keep' }] });
    const message = `${'x'.repeat(9)}\r\n${'y'.repeat(10)}`;
    expect((await edge.post('/v1/form', plain({ message }))).status).toBe(200);
    expect(propertiesOf(edge.events()[0]).field_message).toBe(message.replace('\r\n', '\n'));
  });

  it('makes no event where the form is for scripts alone', async () => {
    edge.define('form', { ...DEFINITION, spam: { without_script: false } });
    await edge.post('/v1/form', plain());
    expect(edge.events()).toEqual([]);
  });
});
