import { expect, test } from 'vitest';
import { type ArrivalFacts, arrivalOf, channelOf, siteOf } from '#pipelines/visits/arrival.ts';

const SHOP = 'https://www.shop.example/';

/** How somebody came to a page of the shop, as one line. */
function came(query: string, referrer = '', changes: Partial<ArrivalFacts> = {}): string {
  const utm = { source: '', medium: '', campaign: '' };
  return arrivalOf({ page: SHOP + query, referrer, utm, domains: [], ...changes }).replaceAll('\n', '|');
}

test.each([
  ['nothing', '', '', ''],
  ['a search', '', 'https://www.google.co.uk/', 'r|Organic Search|google|organic||google.co.uk'],
  [
    'a search in an app',
    '',
    'android-app://com.google.android.googlequicksearchbox/',
    'r|Organic Search|google|organic||com.google.android.googlequicksearchbox',
  ],
  ['a network', '', 'https://l.facebook.com/l.php?u=x', 'r|Organic Social|facebook|referral||l.facebook.com'],
  ['a short link', '', 'https://t.co/abc', 'r|Organic Social|x|referral||t.co'],
  ['mail', '', 'https://mail.google.com/mail/u/0', 'r|Email|gmail|referral||mail.google.com'],
  ['an assistant', '', 'https://chatgpt.com/', 'r|AI Assistant|chatgpt|referral||chatgpt.com'],
  ['an assistant that names itself', '?utm_source=chatgpt.com', '', 'c|AI Assistant|chatgpt|||'],
  ['a video', '', 'https://m.youtube.com/watch', 'r|Organic Video|youtube|referral||m.youtube.com'],
  ['another site', '', 'https://www.Blog.example:8080/x', 'r|Referral|blog.example|referral||blog.example'],
  ['another page of the shop', '', 'https://shop.example/cart', ''],
  ['a subdomain of it', '', 'https://blog.shop.example/', ''],
  ['a payment', '', 'https://www.paypal.com/checkoutnow', ''],
  ['a sign-in', '', 'https://accounts.google.com/o/oauth2', ''],
  ['what PostHog writes for none', '', '$direct', ''],
  ['a campaign', '?utm_source=News&utm_medium=Email&utm_campaign=Spring', '', 'c|Email|news|email|spring|'],
  ['a campaign in capitals', '?UTM_Source=fb&UTM_MEDIUM=paid_social', '', 'c|Paid Social|facebook|paid_social||'],
  ['a campaign behind a search', '?utm_campaign=x', 'https://www.bing.com/', 'c|Organic Search|bing||x|bing.com'],
  ['an ad of a search engine', '?gclid=abc', 'https://www.google.com/', 'c|Paid Search|google|cpc||google.com'],
  [
    'an ad that is tagged too',
    '?gclid=abc&utm_source=google&utm_medium=cpc&utm_campaign=a',
    '',
    'c|Paid Search|google|cpc|a|',
  ],
  [
    'a link of a network',
    '?fbclid=abc',
    'https://www.facebook.com/',
    'c|Organic Social|facebook|referral||facebook.com',
  ],
  ['an ad of a network that is tagged', '?fbclid=abc&utm_medium=cpc', '', 'c|Paid Social|facebook|cpc||'],
  ['a campaign through a payment', '?utm_source=mail', 'https://paypal.com/', 'c|Unassigned|mail|||'],
  ['a fragment that looks like one', '#?utm_source=x', '', ''],
])('of %s', (_what, query, referrer, expected) => {
  expect(came(query, referrer)).toBe(expected);
});

test('properties count before the address, and further domains of the site are no source', () => {
  const utm = { source: 'Letter', medium: '', campaign: 'a\nb' };
  expect(came('?utm_source=other', '', { utm })).toBe('c|Unassigned|letter||a b|');
  expect(came('', 'https://pay.tills.example/', { domains: ['tills.example'] })).toBe('');
  expect(came('', 'https://nottills.example/', { domains: ['tills.example'] })).toContain('nottills.example');
});

test.each([
  ['www.shop.co.uk', 'shop.co.uk'],
  ['a.b.shop.example', 'shop.example'],
  ['shop.github.io', 'shop.github.io'],
  ['10.0.0.1', '10.0.0.1'],
  ['localhost', 'localhost'],
])('the site of %s is %s', (host, site) => {
  expect(siteOf(host)).toBe(site);
});

test.each([
  ['', '', '', 'Direct'],
  ['(direct)', '(none)', '', 'Direct'],
  ['', '', 'a', 'Unassigned'],
  ['google', 'cpc', 'summer cross-network', 'Cross-network'],
  ['amazon', 'cpc', '', 'Paid Shopping'],
  ['google', 'cpc', 'eshop', 'Paid Shopping'],
  ['google', 'cpc', 'bishop', 'Paid Search'],
  ['bing', 'ppc', '', 'Paid Search'],
  ['instagram', 'paid', '', 'Paid Social'],
  ['youtube', 'cpv', '', 'Paid Video'],
  ['youtube', '', '', 'Organic Video'],
  ['youtube', 'cpm', '', 'Paid Video'],
  ['adnetwork', 'banner', '', 'Display'],
  ['adnetwork', 'cpm', '', 'Display'],
  ['adnetwork', 'retargeting', '', 'Paid Other'],
  ['ebay', '', '', 'Organic Shopping'],
  ['blog', 'social-media', '', 'Organic Social'],
  ['blog', 'organic', '', 'Organic Search'],
  ['blog', 'e-mail', '', 'Email'],
  ['partner', 'affiliate', '', 'Affiliates'],
  ['podcast', 'audio', '', 'Audio'],
  ['x1', 'sms', '', 'SMS'],
  ['firebase', '', '', 'Mobile Push Notifications'],
  ['app1', 'webpush', '', 'Mobile Push Notifications'],
  ['partner', 'link', '', 'Referral'],
  ['partner', 'other', '', 'Unassigned'],
])('%j by %j of %j is of the channel %s', (source, medium, campaign, channel) => {
  expect(channelOf({ source, medium, campaign })).toBe(channel);
});
