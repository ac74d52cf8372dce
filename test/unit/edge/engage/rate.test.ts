import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RateLimiter } from '#services/edge/admission.ts';
import { FORM, PROMO, SURVEY } from '#test/unit/engage/samples.ts';
import { openShopWindow, PAGE, type ShopWindow } from './shop_window.ts';

const rate = { limit: 5, remaining: 0, resetMs: 9_000 };
let counted: number[];
let edge: ShopWindow;

/** Takes five requests of anybody, and notes of each how many events it brought. */
const fiveRequests: RateLimiter = {
  limited: () => null,
  async admit({ account: { account_id } }, _arrivedMs, wanted) {
    counted.push(wanted);
    if (counted.length > 5) return { ok: false, kind: 'key', waitMs: 9_000, rate };
    return { ok: true, rate, reservation: { accountId: account_id, month: '2026-01', granted: wanted, lease: '' } };
  },
  release: () => undefined,
  markUncertain: () => undefined,
  charge: async () => undefined,
  isShared: () => false,
  stop: () => undefined,
};

beforeEach(async () => {
  counted = [];
  edge = await openShopWindow({ rateLimiter: fiveRequests });
  edge.define('survey', SURVEY);
  edge.define('promo', PROMO);
  edge.define('form', FORM);
});
afterEach(() => edge.close());

describe('every request of surveys, promos and forms counts against the rate once', () => {
  const forged = { version: 1, submission_id: '0192f6a1-5f0e-4c33-9a51-5b0c6a2f7d10', token: 'x', status: 'shown' };
  it.each([
    ['what is shown', '/v1/engage', { page: PAGE }],
    ['a malformed one', '/v1/engage', {}],
    ['a body that is too large', '/v1/engage', { x: 'x'.repeat(40_000) }],
    ['a forged answer', '/v1/surveys/respond', { ...forged, survey_id: 'nps' }],
    ['a promo that is not there', '/v1/promos/track', { promo_id: 'gone' }],
    ['a form that is spam', '/v1/form', { form_id: 'quote', fields: { website_2: 'x' } }],
    ['a form that is not there', '/v1/form', { form_id: 'gone' }],
  ])('%s', async (_what, path, body) => {
    for (let at = 0; at < 5; at += 1) expect((await edge.post(path, body)).status).not.toBe(429);
    const { status, headers } = await edge.post(path, body);
    expect({ status, retryAfter: headers.get('retry-after') }).toEqual({ status: 429, retryAfter: '9' });
    expect(counted).toHaveLength(6);
  });

  it('one whose event is accepted', async () => {
    const { body } = await edge.post('/v1/form', {
      ...{ form_id: 'quote', submission_id: forged.submission_id, token: edge.token('form', 'quote') },
      fields: { email: 'jane.doe@mail.example' },
    });
    expect({ accepted: body.accepted, counted }).toEqual({ accepted: 1, counted: [1] });
  });
});
