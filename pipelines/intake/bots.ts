// Robots and HTTP libraries, by user agent.

import { createIsbotFromList, isbot, list } from 'isbot';
import { redactText } from '#pipelines/privacy/redact_text.ts';

/**
 * Who shows a user agent: a browser that called us, a server that called us, or a shopper whom a server reports. A
 * server may call itself what it likes, so of it only crawlers known by name are robots.
 */
type Bearer = 'browser' | 'server' | 'shopper';

const VERDICTS_CACHED_MAX = 2048;
/** In the patterns of isbot: what is no literal text. */
const NOT_LITERAL = /\\.|\[[^\]]*\]|\(\?<?[=!][^)]*\)/g;

/**
 * Crawlers, monitors and driven browsers known by name, as patterns for any place in a user agent. Names only: a word
 * such as `bot`, `server` or `monitor` may well be in the name of a shop's own service.
 */
const NAMED_CRAWLERS: readonly string[] = [
  'google(?:bot|other|-inspectiontool|-extended|-read-aloud|-safety)|(?:adsbot|apis|feedfetcher|mediapartners|storebot)-google',
  'bingbot|bingpreview|msnbot|adidxbot',
  'yandex(?:bot|images|metrika|accessibilitybot|mobilebot|render)|baiduspider|sogou web spider|360spider|yisouspider|bytespider|petalbot',
  'duckduckbot|duckassistbot|applebot|amazonbot|seznambot|qwantify|qwantbot|slurp|exabot|mojeekbot|coccocbot|yeti/|naverbot|daum/',
  'gptbot|chatgpt-user|oai-searchbot|claudebot|claude-user|claude-web|anthropic-ai|perplexitybot|perplexity-user|ccbot|cohere-ai|diffbot|youbot|meta-externalagent|meta-externalfetcher|imagesiftbot|timpibot|omgilibot',
  'facebookexternalhit|facebot|facebookcatalog|twitterbot|linkedinbot|pinterestbot|pinterest/0|slackbot|slack-imgproxy|telegrambot|discordbot|redditbot|snap url preview|skypeuripreview|vkshare|tumblr/|embedly|iframely|mastodon/|tiktokspider',
  'semrushbot|siteauditbot|ahrefs(?:bot|siteaudit)|mj12bot|dotbot|rogerbot|blexbot|dataforseobot|serpstatbot|screaming frog|sistrix|seokicks|megaindex|linkdexbot|barkrowler|awariobot|zoominfobot|bomborabot|grapeshot|proximic|ias_crawler|turnitinbot|ia_archiver|archive\\.org_bot|heritrix|nutch|scrapy|colly|httrack',
  'headlesschrome|headless_shell|phantomjs|selenium|webdriver|playwright|puppeteer|cypress/|chrome-lighthouse|pagespeed|ptst/|gtmetrix|catchpoint|splash version',
  'pingdom|uptimerobot|uptime-kuma|statuscake|site24x7|newrelicpinger|newrelicsynthetics|datadogsynthetics|checklyhq|betteruptime|better stack better uptime|hetrixtools|nodeping|freshping|googlestackdrivermonitoring-uptimechecks|amazon-route53-health-check|elb-healthchecker|kube-probe',
  'zgrab|masscan|nuclei|nikto|sqlmap|nmap scripting engine|censysinspect|expanse, a palo alto|internetmeasurement|shodan',
];

/** What servers' HTTP libraries, shop systems, event libraries and apps built on them call themselves. */
export const HTTP_LIBRARIES: readonly string[] = [
  'node',
  'node-fetch/1.0 (+https://github.com/bitinn/node-fetch)',
  'undici',
  'axios/1.7.2',
  'got (https://github.com/sindresorhus/got)',
  'okhttp/4.12.0',
  'Go-http-client/1.1',
  'GuzzleHttp/7',
  'GuzzleHttp/6.5.5 curl/7.68.0 PHP/7.4.3',
  'PHP/8.2',
  'PHP-SOAP/8.1.2',
  'Symfony HttpClient/Curl',
  'WordPress/6.4; https://shop.example',
  'WooCommerce/8.2 Hook (WordPress/6.4)',
  'Magento/2.4',
  'Shopify-Captain-Hook',
  'python-requests/2.31.0',
  'Python-urllib/3.11',
  'Python/3.11 aiohttp/3.9.1',
  'python-httpx/0.27.0',
  'Java/17.0.2',
  'Java-http-client/17.0.2',
  'Apache-HttpClient/4.5.13 (Java/11.0.20)',
  'Jakarta Commons-HttpClient/3.1',
  'Faraday v2.7.4',
  'Ruby',
  'rest-client/2.1.0 (linux x86_64) ruby/3.2.2p53',
  'reqwest/0.11.20',
  'hyper/0.14',
  'Dart/3.2 (dart:io)',
  'curl/8.5.0',
  'Wget/1.21.4',
  'libwww-perl/6.67',
  'PostmanRuntime/7.36.0',
  'insomnia/8.4.5',
  'RestSharp/110.2.0.0',
  'posthog-node/5.70.0',
  'posthog-python/3.5.0',
  'analytics-node/3.1.0',
  'analytics-python/2.2.3',
  'rudder-sdk-node/3.0.13',
  'Zapier',
  'Acme/412 CFNetwork/1410.0.3 Darwin/22.6.0',
  'Acme/3.1 (iPhone; iOS 17.4; Scale/3.00)',
  'Dalvik/2.1.0 (Linux; U; Android 13; Pixel 7 Build/TQ3A.230805.001)',
];

const JUDGES: Record<Bearer, (userAgent: string) => boolean> = {
  browser: isbot,
  server: createIsbotFromList([...NAMED_CRAWLERS]),
  shopper: createIsbotFromList([...NAMED_CRAWLERS, ...list.filter(namesRobots)]),
};
/** Verdicts by user agent; one that holds personal text is judged anew each time instead of being held in memory. */
const verdicts: Record<Bearer, Map<string, boolean>> = { browser: new Map(), server: new Map(), shopper: new Map() };

/** Whether the user agent is a robot's. A browser always has one; a server may have none. */
export function isBot(bearer: Bearer, userAgent: string | null): boolean {
  if (userAgent === null || userAgent.trim() === '') return bearer === 'browser';
  return verdicts[bearer].get(userAgent) ?? judge(bearer, userAgent);
}

function judge(bearer: Bearer, userAgent: string): boolean {
  const verdict = JUDGES[bearer](userAgent);
  if (redactText(userAgent) !== userAgent) return verdict;
  const known = verdicts[bearer];
  if (known.size >= VERDICTS_CACHED_MAX) known.clear();
  known.set(userAgent, verdict);
  return verdict;
}

/**
 * Whether a pattern of isbot tells a robot by a word. Those that go by the mere shape of a user agent catch shop apps,
 * and those that catch HTTP libraries catch apps built on them.
 */
function namesRobots(pattern: string): boolean {
  if (!/[a-z]{3}/.test(pattern.replace(NOT_LITERAL, ' ')) || pattern.startsWith('^mozilla')) return false;
  return !HTTP_LIBRARIES.some((library) => new RegExp(pattern, 'i').test(library));
}
