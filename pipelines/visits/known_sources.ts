// What is known of where visits come from: search engines, social networks, mail, assistants, shops and videos, by their domains and
// by the words that links to a site name them with.

/** What kind of site a source is. `passing`: people go there on their way, to pay or to sign in, and come from elsewhere. */
export type SourceKind = 'search' | 'social' | 'mail' | 'ai' | 'shopping' | 'video' | 'passing';

export interface KnownSource {
  name: string;
  kind: SourceKind;
}

/** Name, then domains whose subdomains count too, then other words for it in `utm_source`. */
const SOURCES: Readonly<Record<SourceKind, readonly string[]>> = {
  search: [
    'duckduckgo duckduckgo.com ddg',
    'ecosia ecosia.org',
    'baidu baidu.com',
    'qwant qwant.com',
    'startpage startpage.com',
    'brave search.brave.com',
    'naver search.naver.com m.search.naver.com',
    'seznam search.seznam.cz',
    'daum search.daum.net',
    'sogou sogou.com',
    '360 so.com',
    'aol search.aol.com',
    'ask ask.com',
    'kagi kagi.com',
    'mojeek mojeek.com',
    'swisscows swisscows.com',
    'lycos lycos.com',
    'presearch presearch.com',
    'coccoc coccoc.com',
    'dogpile dogpile.com',
    'metager metager.org metager.de',
    'google com.google.android.googlequicksearchbox google-ads googleads adwords google_ads',
    'bing bing.com bing-ads bingads',
    'yahoo search.yahoo.com search.yahoo.co.jp',
    'yandex ya.ru yandex.com yandex.ru yandex.kz yandex.by yandex.com.tr',
  ],
  social: [
    'facebook facebook.com fb.com fb.me com.facebook.katana com.facebook.lite com.facebook.orca messenger.com fb meta facebook-ads facebookads facebook_ads',
    'instagram instagram.com com.instagram.android ig instagram-ads instagramads',
    'threads threads.net threads.com',
    'x twitter.com x.com t.co com.twitter.android twitter twitter-ads',
    'linkedin linkedin.com lnkd.in com.linkedin.android li linkedin-ads linkedinads',
    'pinterest pinterest.com pinterest.de pinterest.fr pinterest.co.uk pinterest.es pinterest.it pinterest.ca pin.it com.pinterest',
    'reddit reddit.com redd.it com.reddit.frontpage',
    'tiktok tiktok.com com.zhiliaoapp.musically tiktok-ads tiktokads',
    'snapchat snapchat.com com.snapchat.android snap',
    'whatsapp whatsapp.com wa.me com.whatsapp',
    'telegram telegram.org telegram.me t.me org.telegram.messenger',
    'discord discord.com discordapp.com',
    'mastodon mastodon.social mastodon.online mstdn.social org.joinmastodon.android',
    'bluesky bsky.app go.bsky.app',
    'tumblr tumblr.com',
    'quora quora.com',
    'vk vk.com vkontakte.ru',
    'ok ok.ru',
    'weibo weibo.com weibo.cn',
    'wechat weixin.qq.com wechat.com',
    'line line.me',
    'xing xing.com',
    'hackernews news.ycombinator.com hn',
    'stackoverflow stackoverflow.com',
    'medium medium.com',
    'substack substack.com',
    'meetup meetup.com',
    'flipboard flipboard.com',
    'nextdoor nextdoor.com',
    'slack slack.com com.slack',
  ],
  mail: [
    'gmail mail.google.com com.google.android.gm googlemail',
    'outlook outlook.live.com outlook.office.com outlook.office365.com outlook.com hotmail.com mail.live.com com.microsoft.office.outlook',
    'yahoo-mail mail.yahoo.com com.yahoo.mobile.client.android.mail',
    'icloud-mail icloud.com',
    'proton-mail mail.proton.me mail.protonmail.com',
    'gmx gmx.net gmx.com gmx.de gmx.at gmx.ch',
    'webde web.de',
    'aol-mail mail.aol.com',
    'mailru e.mail.ru mail.ru',
    'zoho-mail mail.zoho.com mail.zoho.eu',
    'orange-mail messagerie.orange.fr',
    'libero libero.it',
    'seznam-mail email.seznam.cz',
    'tutanota mail.tutanota.com app.tuta.com',
    'fastmail fastmail.com app.fastmail.com',
  ],
  ai: [
    'chatgpt chatgpt.com chat.openai.com openai.com openai',
    'claude claude.ai',
    'gemini gemini.google.com bard.google.com',
    'copilot copilot.microsoft.com copilot.cloud.microsoft edgeservices.bing.com',
    'perplexity perplexity.ai ai.perplexity.app.android',
    'grok grok.com',
    'deepseek deepseek.com chat.deepseek.com',
    'mistral chat.mistral.ai mistral.ai',
    'meta-ai meta.ai',
    'you you.com',
    'phind phind.com',
    'poe poe.com',
    'doubao doubao.com',
    'kimi kimi.com kimi.moonshot.cn',
    'qwen chat.qwen.ai',
    'notebooklm notebooklm.google.com',
  ],
  shopping: [
    'amazon amazon.com amazon.de amazon.co.uk amazon.fr amazon.it amazon.es amazon.nl amazon.com.be amazon.ca amazon.co.jp amazon.in amazon.com.au amazon.com.br amazon.pl amazon.se amzn.to',
    'ebay ebay.com ebay.de ebay.co.uk ebay.fr ebay.it ebay.es ebay.com.au ebay.ca',
    'etsy etsy.com',
    'walmart walmart.com',
    'aliexpress aliexpress.com',
    'alibaba alibaba.com',
    'google-shopping shopping.google.com googleshopping google_shopping',
    'idealo idealo.de idealo.fr idealo.it idealo.es idealo.co.uk',
    'bol bol.com',
    'zalando zalando.de zalando.com zalando.be zalando.nl zalando.fr',
    'kelkoo kelkoo.com',
    'pricespy pricespy.co.uk',
    'shopzilla shopzilla.com',
    'shein shein.com',
    'temu temu.com',
    'mercadolibre mercadolibre.com mercadolivre.com.br',
    'rakuten rakuten.com rakuten.co.jp',
  ],
  video: [
    'youtube youtube.com youtu.be youtube-nocookie.com com.google.android.youtube yt',
    'vimeo vimeo.com',
    'dailymotion dailymotion.com dai.ly',
    'twitch twitch.tv',
    'netflix netflix.com',
    'hulu hulu.com',
    'bilibili bilibili.com',
    'youku youku.com',
    'rumble rumble.com',
    'odysee odysee.com',
  ],
  passing: [
    'paypal paypal.com paypalobjects.com',
    'stripe stripe.com',
    'klarna klarna.com',
    'mollie mollie.com',
    'adyen adyen.com adyenpayments.com',
    'worldline worldline.com worldline-solutions.com ogone.com',
    'multisafepay multisafepay.com',
    'afterpay afterpay.com clearpay.co.uk',
    'affirm affirm.com',
    'square squareup.com',
    'braintree braintreegateway.com',
    'checkout checkout.com',
    'worldpay worldpay.com',
    'authorize authorize.net',
    'payu payu.com payu.in secure.payu.com',
    'przelewy24 przelewy24.pl',
    'sofort sofort.com',
    'ideal ideal.nl',
    'bancontact bancontact.net payconiq.com',
    'amazonpay pay.amazon.com payments.amazon.com',
    'googlepay pay.google.com',
    'shop-pay shop.app',
    'razorpay razorpay.com',
    'twint twint.ch',
    'cardinal cardinalcommerce.com arcot.com 3dsecure.io',
    'google-sign-in accounts.google.com',
    'microsoft-sign-in login.microsoftonline.com login.live.com',
    'apple-sign-in appleid.apple.com',
    'auth0 auth0.com',
    'okta okta.com',
    'itsme itsme.be',
  ],
};

/** Engines that have a domain in each country, and only some of their subdomains search. */
const ENGINES: readonly [RegExp, KnownSource][] = [
  [/^(?:(?:www|m|images?|news|cse)\.)?google\.(?:com?\.)?[a-z]{2,3}$/, { name: 'google', kind: 'search' }],
  [/^(?:[a-z]{2}\.)?search\.yahoo\.(?:com?\.)?[a-z]{2,3}$/, { name: 'yahoo', kind: 'search' }],
];

const BY_WORD = new Map<string, KnownSource>();
for (const [kind, lines] of Object.entries(SOURCES) as [SourceKind, readonly string[]][]) {
  for (const line of lines) {
    const words = line.split(' ');
    const source = { name: words[0] as string, kind };
    for (const word of words) BY_WORD.set(word, source);
  }
}

/** What is known of a host in small letters: of itself, else of what it is a subdomain of; null: nothing. */
export function sourceOfHost(host: string): KnownSource | null {
  const engine = ENGINES.find(([pattern]) => pattern.test(host));
  if (engine !== undefined) return engine[1];
  for (let rest = host; rest.includes('.'); rest = rest.slice(rest.indexOf('.') + 1)) {
    const known = BY_WORD.get(rest);
    if (known !== undefined) return known;
  }
  return null;
}

/** What is known of a word in `utm_source`, in small letters: a name, or a domain. */
export const sourceOfWord = (word: string): KnownSource | null => BY_WORD.get(word) ?? sourceOfHost(word);
