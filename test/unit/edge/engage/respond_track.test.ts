import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open, PROMO, SURVEY } from '#test/unit/engage/samples.ts';
import { put } from '#test/unit/settings/filled_table.ts';
import { site } from '#test/unit/settings/samples.ts';
import { openShopWindow, PAGE, type ShopWindow } from './shop_window.ts';
import { solutionOf } from './solution.ts';

let edge: ShopWindow;
beforeEach(async () => {
  edge = await openShopWindow();
});
afterEach(() => edge.close());

const visitor = { distinct_id: 'v1', consent: { analytics: true } };
const propertiesOf = (event: { properties: string } | undefined) => JSON.parse(event?.properties ?? '{}');

describe('POST /v1/surveys/respond', () => {
  const choices = [
    { id: 'price', label: 'Prices' },
    { id: 'other', label: 'Other' },
  ];
  const questions = [
    ...SURVEY.questions,
    { id: 'what', type: 'single', text: 'What?', choices },
    { id: 'all', type: 'multiple', text: 'All?', choices, open_choice: true },
    open('why'),
    { id: 'more', type: 'link', text: 'More', url: '/more' },
  ];
  beforeEach(() => edge.define('survey', { ...SURVEY, questions }));

  function response(fields: object = {}) {
    const token = edge.token('survey', 'nps');
    const usual = { survey_id: 'nps', version: 1, submission_id: randomUUID(), token, status: 'completed' };
    return { ...usual, page: PAGE, visitor, ...fields };
  }

  it('is an event with every answer, the score and its class', async () => {
    const answers = [
      { question_id: 'score', value: 9 },
      { question_id: 'what', value: 'price' },
      { question_id: 'all', value: ['other', 'free words'] },
      { question_id: 'why', value: 'it is good' },
      { question_id: 'more', value: true },
    ];
    const sent = response({ answers, elapsed_ms: 900 });
    const { status, body } = await edge.post('/v1/surveys/respond', sent);
    expect({ status, body }).toEqual({
      status: 200,
      body: { accepted: 1, event_id: `${sent.submission_id}:survey:nps:completed` },
    });
    const [event] = edge.events();
    expect(event).toMatchObject({ event: 'survey_answered', event_id: body.event_id, distinct_id: 'v1' });
    expect(propertiesOf(event)).toEqual({
      ...{
        $current_url: PAGE.url,
        $title: 'Cart',
        utm_source: 'news',
        utm_campaign: 'autumn',
        $consent: { analytics: true, ads: false },
      },
      ...{ survey_id: 'nps', survey_version: 1, submission_id: sent.submission_id, survey_status: 'completed' },
      ...{ elapsed_ms: 900, answer_score: 9, score: 9, nps_score: 9, nps_class: 'promoter', answer_what: 'price' },
      ...{ answer_all: ['other', 'free words'], answer_why: 'it is good', answer_more: true },
    });
  });

  it('has the last answer to a question that was answered again, and each choice once', async () => {
    const answers = [
      { question_id: 'score', value: 10 },
      { question_id: 'all', value: ['price', 'price', 'other'] },
      { question_id: 'score', value: 0 },
    ];
    await edge.post('/v1/surveys/respond', response({ answers }));
    expect(propertiesOf(edge.events()[0])).toMatchObject({
      ...{ answer_score: 0, score: 0, nps_score: 0, nps_class: 'detractor' },
      answer_all: ['price', 'other'],
    });
  });

  it('is refused with an answer to a question that the survey does not have, unless it had another version', async () => {
    const answers = [
      { question_id: 'score', value: 9 },
      { question_id: 'gone', value: 'x' },
    ];
    const refused = await edge.post('/v1/surveys/respond', response({ answers }));
    expect(refused).toMatchObject({ status: 400, body: { error: { field: 'answers.1.question_id' } } });
    expect(
      await edge.post(
        '/v1/surveys/respond',
        response({ answers, version: 2, token: edge.token('survey', 'nps', { version: 2 }) }),
      ),
    ).toMatchObject({
      status: 200,
      body: { accepted: 1 },
    });
  });

  it('has no number of a card that the browser calls itself by', async () => {
    for (const agent of [
      'Mozilla/5.0 (X11; 4539578012345671) Firefox/140.0',
      'Mozilla/5.0 (X11; 4539 5780 1234 5671) Firefox/140.0',
    ]) {
      await edge.post('/v1/surveys/respond', response({ status: 'shown' }), { 'user-agent': agent });
    }
    const agents = edge.events().map((event) => event.client_user_agent);
    expect(agents).toEqual(Array.from({ length: 2 }, () => 'Mozilla/5.0 (X11; redacted) Firefox/140.0'));
  });

  describe('with required questions', () => {
    const required = [
      { ...open('why'), required: true, branches: [{ is: 'answered', go_to: 'what' }] },
      { id: 'what', type: 'single', text: 'What?', choices, open_choice: true, required: true, next: 'all' },
      { ...open('skipped'), required: true },
      { id: 'all', type: 'multiple', text: 'All?', choices, open_choice: true, required: true },
      { id: 'more', type: 'link', text: 'More', url: '/more', required: true },
    ];
    const whole = { why: 'so', what: 'own words', all: ['price'], more: true };
    const answersOf = (given: object) =>
      Object.entries(given).flatMap(([question_id, value]) => (value === undefined ? [] : [{ question_id, value }]));
    beforeEach(() => edge.define('survey', { ...SURVEY, questions: required }, 2));
    const respond = (given: object, fields: object = {}) =>
      edge.post(
        '/v1/surveys/respond',
        response({
          version: 2,
          token: edge.token('survey', 'nps', { version: 2 }),
          answers: answersOf(given),
          ...fields,
        }),
      );

    it('takes a whole response, without what its branches left out', async () => {
      expect(await respond(whole)).toMatchObject({ status: 200, body: { accepted: 1 } });
    });

    it.each([
      ['why', undefined],
      ['why', '  '],
      ['what', ''],
      ['all', []],
      ['all', [' ']],
      ['more', false],
      ['more', undefined],
    ])('refuses one that says it is whole where %s is %j', async (question, value) => {
      const { status, body } = await respond({ ...whole, [question]: value });
      expect([status, body.error.code, body.error.field]).toEqual([400, 'engage_invalid', `answers.${question}`]);
      expect(edge.events()).toEqual([]);
    });

    it('takes what is not whole, or of another version', async () => {
      expect((await respond({ why: 'so' }, { status: 'partial' })).body.accepted).toBe(1);
      expect((await respond({}, { status: 'dismissed' })).body.accepted).toBe(1);
      const before = { version: 1, token: edge.token('survey', 'nps') };
      expect((await respond({}, before)).body.accepted).toBe(1);
    });
  });

  it.each([
    ['shown', 'survey_shown'],
    ['partial', 'survey_answered'],
    ['dismissed', 'survey_dismissed'],
  ])('%s is %s', async (status, name) => {
    await edge.post('/v1/surveys/respond', response({ status }));
    expect(edge.events()[0]?.event).toBe(name);
  });

  it.each([
    ['score', 11],
    ['score', 'nine'],
    ['what', 'unknown'],
    ['what', ['price']],
    ['all', 'price'],
    ['why', 5],
    ['more', 'yes'],
  ])('refuses the answer to %s that is %j', async (question_id, value) => {
    const { status, body } = await edge.post('/v1/surveys/respond', response({ answers: [{ question_id, value }] }));
    expect({ status, field: body.error.field }).toEqual({ status: 400, field: 'answers.0.value' });
    expect(edge.events()).toEqual([]);
  });

  it('of an earlier version loses just the answer that its question no longer takes', async () => {
    const token = edge.token('survey', 'nps');
    edge.define('survey', { ...SURVEY, questions: questions.filter((one) => !('id' in one) || one.id !== 'why') }, 2);
    const answers = [
      { question_id: 'score', value: 9 },
      { question_id: 'what', value: 'service' },
      { question_id: 'why', value: 'it is good' },
    ];
    expect((await edge.post('/v1/surveys/respond', response({ answers, token }))).body.accepted).toBe(1);
    const properties = propertiesOf(edge.events()[0]);
    expect(properties).toMatchObject({ answer_score: 9, survey_version: 1 });
    expect(properties).not.toHaveProperty('answer_what');
  });

  it('has one id however often it is sent, and another with other partial answers', async () => {
    const sent = response({ status: 'partial', answers: [{ question_id: 'score', value: 3 }] });
    const ids: string[] = [];
    for (const value of [3, 3, 4]) {
      const answers = [{ question_id: 'score', value }];
      ids.push((await edge.post('/v1/surveys/respond', { ...sent, answers })).body.event_id);
    }
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  it.each([
    [{ revision: 1 }, { revision: 2 }, { revision: 3 }],
    [{ elapsed_ms: 1 }, { elapsed_ms: 2 }, { elapsed_ms: 3 }],
  ])('is another event where an answer is changed and changed back: %j, %j, %j', async (...places) => {
    const sent = response({ status: 'partial' });
    const ids: string[] = [];
    for (const [at, value] of [3, 3, 10, 3].entries()) {
      const answers = [{ question_id: 'score', value }];
      const place = places[Math.max(0, at - 1)];
      ids.push((await edge.post('/v1/surveys/respond', { ...sent, ...place, answers })).body.event_id);
    }
    expect(ids[0]).toBe(ids[1]);
    expect(new Set(ids).size).toBe(3);
  });

  it('is told of one visitor, and of who they say they are meanwhile: of no third', async () => {
    const sent = response({ status: 'shown' });
    const accepted: number[] = [];
    for (const distinct_id of ['v1', 'v2', 'v1', 'v3', 'v4']) {
      accepted.push((await edge.post('/v1/surveys/respond', { ...sent, visitor: { distinct_id } })).body.accepted);
    }
    expect(accepted).toEqual([1, 1, 1, 0, 0]);
    const isShownTo = async (distinct_id: string) =>
      (await edge.post('/v1/engage', { page: PAGE, visitor: { distinct_id } })).body.items.length > 0;
    edge.define('survey', { ...SURVEY, frequency: { max_times: 1 } });
    expect(await Promise.all(['v1', 'v3', 'v4'].map(isShownTo))).toEqual([false, true, true]);
  });

  it('uses up no token where it is refused for its time', async () => {
    const sent = response();
    const { status, body } = await edge.post('/v1/surveys/respond', { ...sent, timestamp: 'yesterday' });
    expect([status, body.error.field]).toEqual([400, 'timestamp']);
    const right = { ...sent, submission_id: randomUUID() };
    expect((await edge.post('/v1/surveys/respond', right)).body.accepted).toBe(1);
  });

  it('is not shown again, however often one showing is reported', async () => {
    edge.define('survey', { ...SURVEY, frequency: { max_times: 2 } });
    const items = async () => (await edge.post('/v1/engage', { page: PAGE, visitor })).body.items.length;
    const first = response({ status: 'shown' });
    for (let at = 0; at < 3; at += 1) await edge.post('/v1/surveys/respond', first);
    expect(await items()).toBe(1);
    await edge.post('/v1/surveys/respond', response({ status: 'completed' }));
    expect(await items()).toBe(0);
  });

  it.each([
    ['no token of ours', { token: 'x' }],
    ['the token of another version', { version: 2 }],
  ])('with %s counts as spam and teaches nothing', async (_what, change) => {
    const { status, body } = await edge.post('/v1/surveys/respond', response(change));
    expect({ status, body }).toEqual({ status: 200, body: { accepted: 0 } });
    expect(edge.events()).toEqual([]);
    expect(await edge.metrics.text()).toContain(
      'svc_edge_engage_spam_total{kind="survey",reason="token_forged",stage="edge"} 1',
    );
  });

  it('with a token that another submission came with counts as spam', async () => {
    const sent = response({ status: 'shown' });
    expect((await edge.post('/v1/surveys/respond', sent)).body.accepted).toBe(1);
    expect((await edge.post('/v1/surveys/respond', { ...sent, status: 'completed' })).body.accepted).toBe(1);
    expect((await edge.post('/v1/surveys/respond', { ...sent, submission_id: randomUUID() })).body.accepted).toBe(0);
  });

  it('that stood open for three days is asked for a proof, and after eight days it is spam', async () => {
    const day = 86_400_000;
    const answers = [{ question_id: 'score', value: 9 }];
    const late = response({ answers, token: edge.token('survey', 'nps', { agoMs: 3 * day }) });
    const { body } = await edge.post('/v1/surveys/respond', late);
    expect(body).toEqual({ accepted: 0, challenge: expect.anything() });
    const solved = await edge.post('/v1/surveys/respond', { ...late, challenge: solutionOf(body.challenge) });
    expect(solved.body.accepted).toBe(1);
    const closed = response({ status: 'dismissed', token: edge.token('survey', 'nps', { agoMs: 3 * day }) });
    expect((await edge.post('/v1/surveys/respond', closed)).body.accepted).toBe(1);
    const lost = response({ answers, token: edge.token('survey', 'nps', { agoMs: 8 * day }) });
    expect((await edge.post('/v1/surveys/respond', lost)).body).toEqual({ accepted: 0 });
  });

  it('that a rule of the site blocks is never thanked for; that it was shown needs no thanks', async () => {
    const rules = ['survey_answered', 'survey_shown'].map(
      (value) => ({ kind: 'event', value, property: null }) as const,
    );
    put(edge.table, { site: site({ block_rules: rules }) });
    expect(await edge.post('/v1/surveys/respond', response({ status: 'completed' }))).toMatchObject({
      status: 503,
      body: { error: { code: 'not_taken_now' } },
    });
    expect(await edge.post('/v1/surveys/respond', response({ status: 'shown' }))).toMatchObject({
      status: 200,
      body: { accepted: 0 },
    });
  });

  it('of a survey that is not there is refused', async () => {
    const { status, body } = await edge.post('/v1/surveys/respond', response({ survey_id: 'none' }));
    expect({ status, code: body.error.code }).toEqual({ status: 404, code: 'engage_unknown' });
  });

  it('holds no e-mail address, phone or card number that was written into an answer', async () => {
    const value = 'I am jane.doe@mail.example, +32 475 12 34 56, card 4111 1111 1111 1111';
    await edge.post('/v1/surveys/respond', response({ answers: [{ question_id: 'why', value }] }));
    expect(propertiesOf(edge.events()[0]).answer_why).toBe('I am redacted, redacted, card redacted');
  });
});

describe('POST /v1/promos/track', () => {
  beforeEach(() => edge.define('promo', { ...PROMO, code: 'WINTER20', creative: 'snow', slot: 'top' }));

  function action(fields: object = {}) {
    const token = edge.token('promo', 'sale');
    return {
      promo_id: 'sale',
      version: 1,
      impression_id: randomUUID(),
      token,
      action: 'view',
      page: PAGE,
      visitor,
      ...fields,
    };
  }

  it.each([
    ['view', 'view_promotion'],
    ['click', 'select_promotion'],
    ['dismiss', 'promotion_dismissed'],
    ['copy_code', 'promotion_code_copied'],
    ['redeem', 'promotion_redeemed'],
  ])('%s is %s', async (what, name) => {
    const sent = action({ action: what, value: 12.5, currency: 'EUR' });
    expect((await edge.post('/v1/promos/track', sent)).body).toEqual({ accepted: 1 });
    const [event] = edge.events();
    expect(event).toMatchObject({ event: name, event_id: `${sent.impression_id}:promo:sale:${what}` });
    expect(event?.value).toBe(what === 'redeem' ? 12.5 : null);
    expect(propertiesOf(event)).toMatchObject({
      promotion_id: 'sale',
      promotion_name: 'Sale',
      creative_name: 'snow',
      creative_slot: 'top',
      coupon: 'WINTER20',
      utm_source: 'news',
    });
  });

  it('takes what a shop’s server says was redeemed, days after the promo was shown or of nobody it was shown to', async () => {
    const { token: _token, version: _version, ...redeemed } = action({ action: 'redeem', value: 80, currency: 'EUR' });
    const post = async (key: string, body: object) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${edge.url}/v1/promos/track?key=${key}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      return answer.json();
    };
    expect(await post(edge.serverKey, redeemed)).toEqual({ accepted: 1 });
    expect(await post(edge.serverKey, { ...redeemed, action: 'click' })).toEqual({ accepted: 0 });
    expect((await edge.post('/v1/promos/track', redeemed)).body).toEqual({ accepted: 0 });
    expect(edge.events()).toMatchObject([
      { event: 'promotion_redeemed', event_id: `${redeemed.impression_id}:promo:sale:redeem`, value: 80 },
    ]);
    expect(propertiesOf(edge.events()[0])).toMatchObject({ promotion_version: 1 });
  });

  it('refuses several of which one is refused, and uses up nothing', async () => {
    const events = [action({ timestamp: '1970-01-01T00:00:05Z' }), action({ timestamp: 'yesterday' })];
    expect((await edge.post('/v1/promos/track', { events })).body.error.field).toBe('events.1.timestamp');
    expect((await edge.post('/v1/promos/track', action({ token: events[0]?.token }))).body.accepted).toBe(1);
  });

  it('takes several at once, and leaves out what is no visitor’s', async () => {
    const events = [action(), action({ action: 'click' }), action({ token: 'forged' })];
    expect((await edge.post('/v1/promos/track', { events })).body).toEqual({ accepted: 2 });
  });

  it.each([
    [{}, 'promo_id'],
    [{ events: [] }, 'events'],
    [{ events: Array(21).fill({}) }, 'events'],
  ])('refuses %j', async (sent, field) => {
    const { status, body } = await edge.post('/v1/promos/track', sent);
    expect({ status, field: body.error.field.split('.')[0] }).toEqual({ status: 400, field });
  });

  it('is not shown again once it was clicked', async () => {
    edge.define('promo', { ...PROMO, frequency: { max_times: null } });
    const items = async () => (await edge.post('/v1/engage', { page: PAGE, visitor })).body.items.length;
    await edge.post('/v1/promos/track', action());
    expect(await items()).toBe(1);
    await edge.post('/v1/promos/track', action({ action: 'click' }));
    expect(await items()).toBe(0);
  });
});
