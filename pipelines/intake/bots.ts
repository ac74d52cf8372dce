import { createIsbotFromList, isbot, list } from 'isbot';
import { redactText } from '#pipelines/privacy/redact_text.ts';

const VERDICTS_CACHED_MAX = 2048;

/**
 * What servers' HTTP libraries, shop systems and event SDKs call themselves. A server key is there for them, so the
 * patterns that catch these say nothing about a call without a browser's signs.
 */
const HTTP_LIBRARIES = [
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
  'event-ingest-client/1.0.0',
  'POS-Terminal/2.1',
  'Zapier',
  'Salesforce.com',
];

const isNamedCrawler = createIsbotFromList(
  list.filter((pattern) => !HTTP_LIBRARIES.some((library) => new RegExp(pattern, 'i').test(library))),
);

export interface CallSigns {
  /** Whether Origin, Sec-Fetch-* or Referer say that a browser called. */
  isBrowser: boolean;
  userAgent: string | null;
}

/** Verdicts by user agent; one that holds personal text is judged anew each time instead of being held in memory. */
const browserVerdicts = new Map<string, boolean>();
const serverVerdicts = new Map<string, boolean>();

/**
 * Whether the call is a robot's. A browser's is judged by the whole isbot list, and one without a user agent is a
 * robot; a call without a browser's signs comes from a server, of which only named crawlers and automated browsers are.
 */
export function isBot({ isBrowser, userAgent }: CallSigns): boolean {
  if (userAgent === null || userAgent.trim() === '') return isBrowser;
  const verdicts = isBrowser ? browserVerdicts : serverVerdicts;
  return verdicts.get(userAgent) ?? judge(isBrowser, userAgent, verdicts);
}

function judge(isBrowser: boolean, userAgent: string, verdicts: Map<string, boolean>): boolean {
  const verdict = isBrowser ? isbot(userAgent) : isNamedCrawler(userAgent);
  if (redactText(userAgent) !== userAgent) return verdict;
  if (verdicts.size >= VERDICTS_CACHED_MAX) verdicts.clear();
  verdicts.set(userAgent, verdict);
  return verdict;
}
