import { meta } from '#pipelines/delivery/destinations/meta/adapter.ts';
import { startMetaStandin } from '#services/standin/meta.ts';
import type { Subject } from '../subject.ts';
import { eventCases } from './meta_event_cases.ts';
import { itemCases } from './meta_item_cases.ts';
import { userCases } from './meta_user_cases.ts';

const PIXEL = '1234567890';

export const subject: Subject = {
  adapter: meta,
  start: (options) => startMetaStandin({ ...options, pixels: { [PIXEL]: ['token-good'] } }),
  settings: (standin) => ({ pixel_id: PIXEL, base_url: standin.url }),
  secrets: { access_token: 'token-good' },
  brokenSecrets: { access_token: 'token-revoked' },
  brokenRule: null,
  baseUrl: () => null,
  forbidden: ['onderburg', 'idtjylland', 'QX77', 'qx77', '"DK"', '"dk"'],
  casesMin: 40,
  cases: [...eventCases, ...userCases, ...itemCases],
};
