import { tiktok } from '#pipelines/delivery/destinations/tiktok/adapter.ts';
import { startPlatform } from '#services/local/platforms/standin.ts';
import { standin } from '#test/platforms/tiktok.ts';
import type { Subject } from '../subject.ts';
import { tiktokAnswers } from './tiktok_answers.ts';
import { tiktokCases } from './tiktok_cases.ts';

const PIXEL = 'CABCDEFGHIJ0123456789';
const OFFLINE = '7000000000000000001';
const CRM = '7000000000000000002';
const TOKENS = ['token-good'];

export const subject: Subject = {
  adapter: tiktok,
  start: (options) =>
    startPlatform(standin, { ...options, accounts: { [PIXEL]: TOKENS, [OFFLINE]: TOKENS, [CRM]: TOKENS } }),
  settings: ({ url }) => ({
    pixel_code: PIXEL,
    offline_event_set_id: OFFLINE,
    crm_event_set_id: CRM,
    base_url: url,
  }),
  secrets: { access_token: 'token-good' },
  brokenSecrets: { access_token: 'token-revoked' },
  brokenRule: null,
  baseUrl: () => null,
  forbidden: ['Sonderburg', 'QX77', 'qx77', 'efefef'],
  casesMin: 25,
  cases: tiktokCases,
  answers: tiktokAnswers,
};
