import { describe, expect, it } from 'vitest';
import { HTTP_LIBRARIES, isBot } from '#pipelines/intake/call.ts';
import { processBatch } from '#pipelines/intake/take_event.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { browser, CHROME, refusal, server } from './context.ts';

const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';
const CRAWLERS = [
  GOOGLEBOT,
  'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
  'Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)',
  'Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)',
  'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)',
  'Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)',
  'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
  'Twitterbot/1.0',
  'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Unknown; Linux x86_64) AppleWebKit/538.1 (KHTML, like Gecko) PhantomJS/2.1.1 Safari/538.1',
  'Mozilla/5.0 (compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)',
  'Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)',
  'Scrapy/2.11.0 (+https://scrapy.org)',
  'Mozilla/5.0 (Linux; Android 11; moto g power (2022)) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Mobile Safari/537.36 Chrome-Lighthouse',
];
const SHOPPERS = [
  CHROME,
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/467.0.0.48.107]',
  'Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36 Instagram 335.0.0.0.54 Android',
];

describe('a crawler', () => {
  it('is a robot whoever shows it', () =>
    checkAll(CRAWLERS, (userAgent) => {
      const context = { userAgent };
      expect(refusal({ event: 'e' }, browser(context))).toBe('bot');
      expect(refusal({ event: 'e' }, browser({ ...context, browserSigns: false }))).toBe('bot');
      expect(refusal({ event: 'e' }, server(context))).toBe('bot');
      expect(refusal({ event: 'e', properties: { client_user_agent: userAgent } }, server())).toBe('bot');
    }));
});

describe('a browser', () => {
  it('is no robot, in person or reported', () =>
    checkAll(SHOPPERS, (userAgent) => {
      expect(refusal({ event: 'e' }, browser({ userAgent }))).toBeNull();
      expect(refusal({ event: 'e', properties: { client_user_agent: userAgent } }, server())).toBeNull();
    }));

  it('that shows none, a library’s or a robot’s user agent is a robot', () =>
    checkAll(
      [null, '', '  ', 'curl/8.5.0', 'python-requests/2.31.0', 'SomethingBot/1.0', 'Mozilla/5.0'],
      (userAgent) => {
        expect(refusal({ event: 'e' }, browser({ userAgent }))).toBe('bot');
      },
    ));

  it.each([
    { webdriver: true },
    { $webdriver: true },
    { 'navigator.webdriver': true },
    { navigator: { webdriver: true } },
  ])('driven by a program, as %j says, is a robot', (properties) => {
    expect(refusal({ event: 'e', properties })).toBe('bot');
  });

  it.each([{ webdriver: false }, { webdriver: 'true' }, { navigator: null }, { navigator: { webdriver: null } }])(
    'is none by %j',
    (properties) => {
      expect(refusal({ event: 'e', properties })).toBeNull();
    },
  );

  it('that only prefetches the page does not count', () => {
    expect(processBatch([{ event: 'a' }, 7], browser({ prefetch: true }))).toEqual({
      taken: [],
      rejected: [],
      warned: [],
      dropped: [
        { index: 0, reason: 'prefetch' },
        { index: 1, reason: 'prefetch' },
      ],
      steps: 0,
    });
  });
});

describe('a server', () => {
  it('that calls itself anything is no robot, with either key', () =>
    checkAll(
      [
        ...HTTP_LIBRARIES,
        null,
        '',
        'acme-chatbot/1.0',
        'Order Monitor/2.1',
        'crm-server',
        'POS-Terminal/2.1',
        'Shop (admin@shop.example)',
        'Acme URL checker',
      ],
      (userAgent) => {
        expect(refusal({ event: 'e' }, server({ userAgent }))).toBeNull();
        expect(refusal({ event: 'e' }, browser({ userAgent, browserSigns: false }))).toBeNull();
      },
    ));

  it('may report a shopper’s app that calls itself as a library does', () =>
    checkAll(HTTP_LIBRARIES, (client_user_agent) => {
      expect(refusal({ event: 'e', properties: { client_user_agent } }, server())).toBeNull();
    }));

  it('is not judged by the robots of its till', () => {
    const properties = { client_user_agent: 'Checkout Monitor Bot/1.0', $action_source: 'physical_store' };
    expect(refusal({ event: 'e', properties }, server())).toBeNull();
    expect(refusal({ event: 'e', properties: { ...properties, $action_source: 'website' } }, server())).toBe('bot');
  });

  it('loses only the events of robots', () => {
    const crawled = { event: 'crawled', properties: { client_user_agent: GOOGLEBOT } };
    const batch = processBatch([{ event: 'a' }, crawled, { event: 'b' }], server());
    expect(batch.taken.map(({ event }) => event)).toEqual(['a', 'b']);
    expect(batch.dropped).toEqual([{ index: 1, reason: 'bot' }]);
  });
});

it('the verdict stays right beyond what is cached', () => {
  for (let round = 0; round < 2; round += 1) {
    for (let number = 0; number < 3000; number += 1) expect(isBot('server', `Acme ${number}`)).toBe(false);
    expect(isBot('server', 'Twitterbot/1.0')).toBe(true);
    expect(isBot('browser', CHROME)).toBe(false);
  }
});
