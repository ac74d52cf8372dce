import { snapchat } from '#pipelines/delivery/destinations/snapchat/adapter.ts';
import { startPlatform } from '#services/local/platforms/standin.ts';
import { standin } from '#test/platforms/snapchat.ts';
import type { Subject } from '../subject.ts';
import { snapchatAnswers } from './snapchat_answers.ts';
import { snapchatCases } from './snapchat_cases.ts';

const PIXEL = '0f0e0d0c-1111-2222-3333-444455556666';

export const subject: Subject = {
  adapter: snapchat,
  start: (options) => startPlatform(standin, { ...options, accounts: { [PIXEL]: ['token-good'] } }),
  settings: ({ url }) => ({ pixel_id: PIXEL, base_url: url }),
  secrets: { access_token: 'token-good' },
  brokenSecrets: { access_token: 'token-revoked' },
  brokenRule: null,
  baseUrl: () => null,
  forbidden: ['onderburg', 'idtjylland', 'QX77', 'qx77', '"DK"', '"dk"'],
  secretsInUrl: ['access_token'],
  casesMin: 15,
  cases: snapchatCases,
  answers: snapchatAnswers,
};
