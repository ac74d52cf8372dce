import { beforeEach, describe, expect, it } from 'vitest';
import type { Answer, HttpRequest } from '#pipelines/delivery/contract.ts';
import { deliver } from '#pipelines/delivery/deliver.ts';
import { createTokens, type DeliveryJob } from '#pipelines/delivery/delivery_run.ts';
import { google } from '#pipelines/delivery/destinations/google/adapter.ts';
import { SERVICE_ACCOUNT } from '#test/contract/delivery/service_accounts.ts';
import { manyEntries } from './entries.ts';
import { answered, metaJob, portsOf, type Recorded } from './harness.ts';

const job = (changes: Partial<DeliveryJob> = {}): DeliveryJob => ({
  ...metaJob(),
  adapter: google,
  settings: { customer_id: '1234567890', event_names: 'purchase=1' },
  secrets: { service_account_key: SERVICE_ACCOUNT.keyFile },
  ...changes,
});

const isToken = ({ url }: HttpRequest): boolean => url === 'https://oauth2.googleapis.com/token';
let tokenAnswer: (nth: number) => Answer;
let eventAnswer: Answer;
let tokensAsked: number;
let ports: Recorded;

beforeEach(() => {
  tokensAsked = 0;
  tokenAnswer = (nth) => answered(200, { access_token: `token-${nth}`, expires_in: 3600 });
  eventAnswer = answered(200, { requestId: 'r' });
  ports = portsOf((request) => {
    if (!isToken(request)) return eventAnswer;
    tokensAsked += 1;
    return tokenAnswer(tokensAsked);
  });
});

const bearers = (): (string | undefined)[] =>
  ports.requests.filter((request) => !isToken(request)).map(({ headers }) => headers['authorization']);

describe('a short-lived token', () => {
  it('is asked for once, for all requests and jobs of the same credentials', async () => {
    await deliver(job({ entries: manyEntries(4_500, { order_id: null }) }), ports);
    await deliver(job(), ports);
    expect(tokensAsked).toBe(1);
    expect(bearers()).toEqual(Array(4).fill('Bearer token-1'));
  });

  it('is not shared with other credentials', async () => {
    await deliver(job(), ports);
    await deliver(job({ secrets: { service_account_key: SERVICE_ACCOUNT.strangerKeyFile } }), ports);
    expect(bearers()).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  it('is asked for anew before it ends', async () => {
    tokenAnswer = (nth) => answered(200, { access_token: `token-${nth}`, expires_in: 60 });
    await deliver(job(), ports);
    await deliver(job(), ports);
    expect(bearers()).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  it.each([{ toString: 1 }, 'soon', null])(
    'lasts the usual time where its own cannot be read: %j',
    async (expires_in) => {
      tokenAnswer = (nth) => answered(200, { access_token: `token-${nth}`, expires_in });
      await deliver(job(), ports);
      await deliver(job(), ports);
      expect(bearers()).toEqual(['Bearer token-1', 'Bearer token-1']);
    },
  );

  it('is forgotten when the platform refuses it', async () => {
    eventAnswer = answered(401, { error: { code: 401, status: 'UNAUTHENTICATED' } });
    expect(await deliver(job(), ports)).toMatchObject([{ outcome: 'paused', reason: 'google_unauthenticated' }]);
    ports.breakers.reset('any', 'site_1');
    eventAnswer = answered(200, { requestId: 'r' });
    expect(await deliver(job(), ports)).toMatchObject([{ outcome: 'delivered' }]);
    expect(bearers()).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  it.each([
    ['an account that is not known', answered(400, { error: 'invalid_grant' }), 'paused', 'oauth_invalid_grant'],
    ['no right to ask', answered(401, { error: 'unauthorized_client' }), 'paused', 'oauth_unauthorized_client'],
    ['words that are none', answered(400, 'x'), 'paused', 'oauth_400'],
    ['a token service in trouble', answered(503, ''), 'diverted', 'http_503'],
    ['too many requests', answered(429, '', { 'retry-after': '5' }), 'diverted', 'http_429'],
    ['a token service that does not answer', { kind: 'no_answer', reason: 'timeout' } as const, 'diverted', 'timeout'],
    ['an answer without a token', answered(200, '{}'), 'diverted', 'unreadable_answer'],
  ])('%s', async (_, answer, outcome, reason) => {
    tokenAnswer = () => answer;
    expect(await deliver(job(), ports)).toMatchObject([{ outcome, reason }]);
    expect(bearers()).toEqual([]);
  });

  it.each([
    ['no JSON', 'x'],
    ['no account', '{}'],
    ['a key that is none', JSON.stringify({ client_email: 'a', private_key: 'secret words' })],
  ])('a key file that is %s pauses the site, and none of it is told', async (_, service_account_key) => {
    const outcomes = await deliver(job({ secrets: { service_account_key } }), ports);
    expect(outcomes).toMatchObject([{ outcome: 'paused', reason: 'service_account_key_unreadable', detail: '' }]);
    expect(ports.requests).toEqual([]);
  });
});

it('the store keeps the newest', () => {
  const tokens = createTokens(2);
  for (const key of ['a', 'b', 'c']) tokens.put(key, `token of ${key}`, 1_000_000);
  expect(['a', 'b', 'c'].map((key) => tokens.get(key, 0))).toEqual([null, 'token of b', 'token of c']);
  expect(tokens.get('c', 1_000_000)).toBeNull();
});
