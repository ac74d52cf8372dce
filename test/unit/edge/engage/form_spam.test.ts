import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EngageGuard } from '#infra/redis/engage/engage.ts';
import { FORM } from '#test/unit/engage/samples.ts';
import { openShopWindow, PAGE, type ShopWindow } from './shop_window.ts';
import { solutionOf } from './solution.ts';

const DEFINITION = {
  ...FORM,
  fields: [
    { name: 'email', type: 'email', label: 'E-mail', map: 'email' },
    { name: 'message', type: 'textarea', label: 'Message', max_length: 2000 },
  ],
};

let edge: ShopWindow;
beforeEach(async () => {
  edge = await openShopWindow();
  edge.define('form', DEFINITION);
});
afterEach(() => edge.close());

let person = 0;
/** What a person sends who is nobody else: with an address, an e-mail address and words of their own. */
function honest(fields: object = {}, more: object = {}) {
  person += 1;
  const own = { email: `person.${person}@mail.example`, message: `Please send me the price list number ${person}.` };
  const token = edge.token('form', 'quote');
  return { form_id: 'quote', submission_id: randomUUID(), token, fields: { ...own, ...fields }, page: PAGE, ...more };
}

const from = (at: number): Record<string, string> => ({
  'x-forwarded-for': `198.${18 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`,
});

async function acceptedOf(
  count: number,
  make: (at: number) => unknown,
): Promise<{ accepted: number; challenged: number }> {
  let [accepted, challenged] = [0, 0];
  for (let first = 0; first < count; first += 20) {
    const group = Array.from({ length: Math.min(20, count - first) }, (_, at) => first + at);
    const answers = await Promise.all(group.map((at) => edge.post('/v1/form', make(at), from(person + at))));
    accepted += answers.filter(({ body }) => body.accepted === 1).length;
    challenged += answers.filter(({ body }) => body.challenge !== undefined).length;
  }
  return { accepted, challenged };
}

describe('spam', () => {
  it('of five kinds, 1,000 of it: at most 5 are accepted', async () => {
    const replayed = edge.token('form', 'quote');
    const kinds = [
      () => honest({}, { token: randomUUID() }),
      () => honest({ website_2: 'https://pills.example' }),
      () => honest({}, { token: edge.token('form', 'quote', { agoMs: 400 }) }),
      (at: number) => honest({ message: `Buy at https://a.example/${at} and www.b.example and http://c.example now` }),
      () => honest({}, { token: replayed }),
    ];
    let accepted = 0;
    for (const kind of kinds) accepted += (await acceptedOf(200, kind)).accepted;
    expect(accepted).toBeLessThanOrEqual(5);
    const counted = await edge.metrics.text();
    for (const reason of ['token_forged', 'honeypot', 'too_fast', 'links', 'token_used']) {
      expect(counted).toMatch(
        new RegExp(`svc_edge_engage_spam_total\\{kind="form",reason="${reason}",stage="edge"\\} (199|200)`),
      );
    }
  }, 60_000);

  it('is not what an honest visitor sends a little early: a proof is asked for', async () => {
    const quick = honest({}, { token: edge.token('form', 'quote', { agoMs: 600 }) });
    const { body } = await edge.post('/v1/form', quick);
    expect(body).toEqual({ accepted: 0, challenge: expect.anything() });
    expect((await edge.post('/v1/form', { ...quick, challenge: solutionOf(body.challenge) })).body.accepted).toBe(1);
  });

  it('is answered as everything else is, and teaches nothing', async () => {
    const { status, body } = await edge.post('/v1/form', honest({ website_2: 'x', email: 'no address' }));
    expect({ status, body }).toEqual({ status: 200, body: { accepted: 0 } });
  });

  it('from one e-mail address goes through three times', async () => {
    for (let at = 0; at < 8; at += 1) {
      await edge.post('/v1/form', honest({ email: 'one@mail.example' }), from(100 + at));
    }
    expect(edge.events()).toHaveLength(3);
  });

  it('is a honeypot that holds a space, or false', async () => {
    for (const website_2 of [' ', false]) await edge.post('/v1/form', honest({ website_2 }));
    expect(edge.events()).toEqual([]);
  });

  it('of a blocked domain, and of names below it, is not taken', async () => {
    edge.define('form', { ...DEFINITION, spam: { domains_blocked: ['junk.example'] } });
    expect((await edge.post('/v1/form', honest({ email: 'a@junk.example' }))).body.accepted).toBe(0);
    expect((await edge.post('/v1/form', honest({ email: 'a@x.junk.example' }))).body.accepted).toBe(0);
    for (const disguised of ['ｊｕｎｋ.example', 'ju\u00adnk.example', 'junk.example\u200b', 'JUNK\u3002example']) {
      expect((await edge.post('/v1/form', honest({ email: `a@${disguised}` }))).body.accepted).toBe(0);
    }
    expect((await edge.post('/v1/form', honest({ email: 'a@notjunk.example' }))).body.accepted).toBe(1);
  });
});

it('honest people, 1,000 of them: at least 998 are accepted, none is asked to prove anything', async () => {
  const { accepted, challenged } = await acceptedOf(1_000, () => honest());
  expect(accepted).toBeGreaterThanOrEqual(998);
  expect(challenged).toBe(0);
}, 60_000);

/** A plain form, as a browser without scripts sends it. */
function plain(at: number, fields: object = {}): string {
  return new URLSearchParams({ _form_id: 'quote', email: `plain.${at}@mail.example`, ...fields }).toString();
}

describe('without a script and a token', () => {
  it('spam with a link, 200 of it from 200 addresses: none is accepted, and its sender is told', async () => {
    const { accepted } = await acceptedOf(200, (at) => plain(at, { message: `Look at https://pills.example/${at}` }));
    expect({ accepted, events: edge.events().length }).toEqual({ accepted: 0, events: 0 });
    const { status, body } = await edge.post('/v1/form', plain(1, { message: 'see pills.example' }));
    expect({ status, told: body.includes('<p>Please leave out links</p>') }).toEqual({ status: 400, told: true });
  });

  it('people who sent what was not right three times, and five behind one address, are taken', async () => {
    for (let at = 0; at < 3; at += 1) await edge.post('/v1/form', plain(at, { email: 'jane' }), from(1));
    for (let at = 0; at < 5; at += 1) expect((await edge.post('/v1/form', plain(at), from(1))).status).toBe(200);
    expect(edge.events()).toHaveLength(5);
  });

  it('a form that takes no plain ones, or a proof of everybody, tells so, and thanks nobody', async () => {
    for (const spam of [{ without_script: false }, { challenge: 'always' }]) {
      edge.define('form', { ...DEFINITION, spam });
      const { status, body } = await edge.post('/v1/form', plain(1), from(1));
      expect([status, body.includes('<p>Please try again in a few minutes</p>')]).toEqual([429, true]);
    }
    expect(edge.events()).toEqual([]);
  });

  it.each([
    ['address', 10, () => '198.51.100.7'],
    ['/48 of IPv6', 30, (at: number) => `2001:db8:7:${at.toString(16)}::1`],
    ['form', 100, (at: number) => `198.18.0.${at}`],
  ])('one %s sends %i in ten minutes, and the next is told to come later', async (_what, most, addressOf) => {
    for (let at = 0; at < most; at += 1) await edge.post('/v1/form', plain(at), { 'x-forwarded-for': addressOf(at) });
    const { status, body, headers } = await edge.post('/v1/form', plain(most), { 'x-forwarded-for': addressOf(most) });
    expect({ status, events: edge.events().length }).toEqual({ status: 429, events: most });
    expect(body).toContain('<p>Please try again in a few minutes</p>');
    expect(headers.get('retry-after')).toBe('600');
  });
});

it('a form that waited for a connection for three days is asked for a proof, after eight days it is spam', async () => {
  const late = honest({}, { token: edge.token('form', 'quote', { agoMs: 3 * 86_400_000 }) });
  const { body } = await edge.post('/v1/form', late);
  expect(body.challenge).toBeTypeOf('object');
  const solved = await edge.post('/v1/form', { ...late, challenge: solutionOf(body.challenge) });
  expect(solved.body.accepted).toBe(1);
  const lost = honest({}, { token: edge.token('form', 'quote', { agoMs: 8 * 86_400_000 }) });
  expect((await edge.post('/v1/form', lost)).body).toEqual({ accepted: 0 });
});

describe('in doubt', () => {
  const text = 'The very same words that somebody else sent before.';

  it('a script is asked for a proof of work, and a proof lets it through', async () => {
    for (let at = 0; at < 5; at += 1) await edge.post('/v1/form', honest({ message: text }), from(500 + at));
    const sent = honest({ message: text });
    const { body } = await edge.post('/v1/form', sent, from(600));
    expect(body).toMatchObject({ accepted: 0, challenge: { algorithm: 'SHA-256', maxnumber: 100_000 } });
    const proof = solutionOf(body.challenge);
    expect((await edge.post('/v1/form', { ...sent, challenge: proof }, from(600))).body.accepted).toBe(1);
    const other = honest({ message: text }, { challenge: proof });
    expect((await edge.post('/v1/form', other, from(601))).body.accepted).toBe(0);
  });

  it('many of one office are asked, and no more than 60 taken', async () => {
    const answers = [];
    for (let at = 0; at < 70; at += 1) answers.push((await edge.post('/v1/form', honest(), from(7))).body);
    expect(answers.slice(0, 10).every(({ accepted }) => accepted === 1)).toBe(true);
    expect(answers.slice(10, 60).every(({ challenge }) => challenge !== undefined)).toBe(true);
    expect(answers.slice(60).every(({ challenge }) => challenge === undefined)).toBe(true);
  });

  it('nobody is asked where the form says off, and everybody where it says always', async () => {
    edge.define('form', { ...DEFINITION, spam: { challenge: 'off' } });
    for (let at = 0; at < 12; at += 1) expect((await edge.post('/v1/form', honest(), from(9))).body.accepted).toBe(1);
    edge.define('form', { ...DEFINITION, spam: { challenge: 'always' } });
    expect((await edge.post('/v1/form', honest(), from(10))).body.challenge).toBeTypeOf('object');
  });
});

it('without Redis a submission is judged by itself alone, and that is counted', async () => {
  const engageGuard: EngageGuard = { count: () => Promise.reject(new Error('away')) };
  const alone = await openShopWindow({ engageGuard });
  alone.define('form', DEFINITION);
  const token = alone.token('form', 'quote');
  expect((await alone.post('/v1/form', { ...honest(), token })).body.accepted).toBe(1);
  expect((await alone.post('/v1/form', { ...honest({ website_2: 'x' }), token })).body.accepted).toBe(0);
  expect(await alone.metrics.text()).toMatch(/svc_edge_engage_unguarded_total\{stage="edge"\} 1/);
  await alone.close();
});
