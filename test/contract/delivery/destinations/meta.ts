import { meta } from '#pipelines/delivery/destinations/meta/adapter.ts';
import { standin } from '#services/local/platforms/meta.ts';
import { startPlatform } from '#services/local/platforms/standin.ts';
import type { Subject } from '../subject.ts';
import { metaAnswers } from './meta_answers.ts';
import { eventCases } from './meta_event_cases.ts';
import { itemCases } from './meta_item_cases.ts';
import { routeCases } from './meta_route_cases.ts';
import { userCases } from './meta_user_cases.ts';

const PIXEL = '1234567890';
const OTHER_PIXEL = '9876543210';

export const subject: Subject = {
  adapter: meta,
  start: (options) =>
    startPlatform(standin, { ...options, accounts: { [PIXEL]: ['token-good'], [OTHER_PIXEL]: ['token-good'] } }),
  settings: ({ url }) => ({ pixel_id: PIXEL, base_url: url }),
  secrets: { access_token: 'token-good' },
  brokenSecrets: { access_token: 'token-revoked' },
  brokenRule: null,
  baseUrl: () => null,
  forbidden: ['onderburg', 'idtjylland', 'QX77', 'qx77', '"DK"', '"dk"'],
  casesMin: 40,
  cases: [...eventCases, ...userCases, ...itemCases, ...routeCases],
  answers: metaAnswers,
};
