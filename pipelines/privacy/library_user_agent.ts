/** Browsers and apps on a device; whatever else is in their user agent, it is somebody's. */
const DEVICE =
  /^(?:mozilla|opera|dalvik)\/|cfnetwork|\((?:iphone|ipad|ipod|android|macintosh|windows|linux; (?:u; )?android)\b/i;

/** HTTP and event libraries, shop systems and tools by name, up to the end of the name. */
const NAMES =
  'node(?:\\.?js)?|node-fetch|undici|axios|got|ky|superagent|needle|bun|deno|okhttp|retrofit|go-http-client|go-resty|fasthttp|guzzlehttp|php|php-soap|php-curl-class|zend_?http_?client|laminas_http_client|symfony httpclient|wordpress|woocommerce|magento|prestashop|shopware|shopify[a-z-]*|python|python-requests|python-urllib|python-httpx|aiohttp|httpx|urllib3?|java|java-http-client|jersey|apache-httpclient|apache-httpasyncclient|jakarta commons-httpclient|spring[a-z-]*|vert\\.x-webclient|akka-http|ktor-client|faraday|ruby|rest-client|httparty|typhoeus|http\\.rb|excon|reqwest|hyper|ureq|isahc|dart|curl|libcurl|wget|libwww-perl|lwp|mojolicious|hackney|finch|req|postmanruntime|insomnia|httpie|restsharp|refit|elixir|erlang|salesforce|zapier|make|n8n|segment|posthog|analytics|rudder(?:stack)?|rudder-sdk|mixpanel|amplitude|jitsu|snowplow|unirest|powershell|windowspowershell';
const LIBRARY = new RegExp(
  `^(?:${NAMES})(?:-(?:node|python|php|ruby|go|java|dotnet|rs|elixir|sdk)[a-z-]*)?(?=$|[/ ;(,])`,
  'i',
);
const ENDING = /(?:http-?client|-(?:node|python|php|ruby|java|go|dotnet)|httpclient)\/\d/i;

/** Whether a user agent is the name of what a server calls with, and says nothing of a shopper's browser or app. */
export function isLibraryUserAgent(userAgent: string): boolean {
  const text = userAgent.trim();
  return !DEVICE.test(text) && (LIBRARY.test(text) || ENDING.test(text));
}
