import { pinterest } from '#pipelines/delivery/destinations/pinterest/adapter.ts';
import { startPlatform } from '#services/local/platforms/standin.ts';
import { standin } from '#test/platforms/pinterest.ts';
import type { Subject } from '../subject.ts';
import { pinterestAnswers } from './pinterest_answers.ts';
import { pinterestCases } from './pinterest_cases.ts';

const ACCOUNT = '549755885175';

export const subject: Subject = {
  adapter: pinterest,
  start: (options) => startPlatform(standin, { ...options, accounts: { [ACCOUNT]: ['token-good'] } }),
  settings: ({ url }) => ({ ad_account_id: ACCOUNT, base_url: url }),
  secrets: { access_token: 'token-good' },
  brokenSecrets: { access_token: 'token-revoked' },
  brokenRule: null,
  baseUrl: () => null,
  forbidden: ['onderburg', 'idtjylland', 'QX77', 'qx77', '"DK"', '"dk"'],
  casesMin: 15,
  cases: pinterestCases,
  answers: pinterestAnswers,
};
