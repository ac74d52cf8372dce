// The channels of visits, by the rules of GA4's default channel group.
import { type SourceKind, sourceOfWord } from './known_sources.ts';

/** In the order in which their rules are tried; the last one is for what none of them takes. */
const CHANNELS = [
  'Direct',
  'Cross-network',
  'Paid Shopping',
  'Paid Search',
  'Paid Social',
  'Paid Video',
  'Display',
  'Paid Other',
  'Organic Shopping',
  'Organic Social',
  'Organic Video',
  'Organic Search',
  'AI Assistant',
  'Email',
  'Affiliates',
  'Referral',
  'Audio',
  'SMS',
  'Mobile Push Notifications',
  'Unassigned',
] as const;
export type Channel = (typeof CHANNELS)[number];

/** How a visit came, in small letters; empty texts are not known. */
export interface Traffic {
  source: string;
  medium: string;
  campaign: string;
}

interface Facts extends Traffic {
  kind: SourceKind | null;
  isPaid: boolean;
}

const PAID = /^(?:.*cp.*|ppc|retargeting|paid.*)$/;
const SHOPPING_CAMPAIGN = /^(?:.*(?:[^a-df-z]|^)shop|.*shopping)/;
const SOCIAL = new Set(['social', 'social-network', 'social-media', 'sm', 'social network', 'social media']);
const DISPLAY = new Set(['display', 'banner', 'expandable', 'interstitial', 'cpm']);
const MAIL = new Set(['email', 'e-mail', 'e_mail', 'e mail']);

const isShopping = ({ kind, campaign }: Facts): boolean => kind === 'shopping' || SHOPPING_CAMPAIGN.test(campaign);

const RULES: Readonly<Record<Exclude<Channel, 'Unassigned'>, (of: Facts) => boolean>> = {
  Direct: ({ source, medium, campaign }) =>
    (source === '' || source === '(direct)') && ['', '(none)', '(not set)'].includes(medium) && campaign === '',
  'Cross-network': ({ campaign }) => campaign.includes('cross-network'),
  'Paid Shopping': (of) => of.isPaid && isShopping(of),
  'Paid Search': ({ isPaid, kind }) => isPaid && kind === 'search',
  'Paid Social': ({ isPaid, kind }) => isPaid && kind === 'social',
  'Paid Video': ({ isPaid, kind }) => isPaid && kind === 'video',
  Display: ({ medium }) => DISPLAY.has(medium),
  'Paid Other': ({ isPaid }) => isPaid,
  'Organic Shopping': isShopping,
  'Organic Social': ({ kind, medium }) => kind === 'social' || SOCIAL.has(medium),
  'Organic Video': ({ kind, medium }) => kind === 'video' || medium.includes('video'),
  'Organic Search': ({ kind, medium }) => kind === 'search' || medium === 'organic',
  'AI Assistant': ({ kind, medium }) => kind === 'ai' || medium === 'ai-assistant',
  Email: ({ kind, source, medium }) => kind === 'mail' || MAIL.has(source) || MAIL.has(medium),
  Affiliates: ({ medium }) => medium === 'affiliate' || medium === 'affiliates',
  Referral: ({ medium }) => medium === 'referral' || medium === 'app' || medium === 'link',
  Audio: ({ medium }) => medium === 'audio',
  SMS: ({ source, medium }) => source === 'sms' || medium === 'sms',
  'Mobile Push Notifications': ({ source, medium }) =>
    medium.endsWith('push') || medium.includes('mobile') || medium.includes('notification') || source === 'firebase',
};

/**
 * The channel of a visit: the first whose rule takes it. Beside GA4's own sources there are mail and assistants, which GA4 has by
 * their medium or not at all; a medium that says `cpm` of a known network is paid by GA4's rule and so not Display.
 */
export function channelOf(traffic: Traffic): Channel {
  const { source, medium } = traffic;
  const kind = sourceOfWord(source)?.kind ?? null;
  const facts: Facts = { ...traffic, kind, isPaid: PAID.test(medium) };
  return CHANNELS.find((channel) => channel !== 'Unassigned' && RULES[channel](facts)) ?? 'Unassigned';
}
