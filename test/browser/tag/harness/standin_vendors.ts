import type { BrowserContext } from 'playwright-core';

const META = `
  fbq.callMethod = (...args) => told.push(['fbq', ...args]);
  for (const args of fbq.queue.splice(0)) fbq.callMethod(...args);`;
const TIKTOK = `
  for (const [method, ...args] of ttq.splice(0)) told.push(['ttq', method, ...args]);
  for (const method of ttq.methods) ttq[method] = (...args) => told.push(['ttq', method, ...args]);`;
/** Google's scripts take commands in `arguments` objects, and plain objects as messages. */
const GOOGLE = `
  const take = (entry) =>
    told.push(Object.prototype.toString.call(entry) === '[object Arguments]' ? ['gtag', ...entry] : ['layer', entry]);
  if (!dataLayer.taken) {
    dataLayer.taken = true;
    const push = dataLayer.push.bind(dataLayer);
    dataLayer.forEach(take);
    dataLayer.push = (...entries) => { entries.forEach(take); return push(...entries); };
  }`;
const CLARITY = `
  for (const args of clarity.q) told.push(['clarity', ...args]);
  clarity = (...args) => told.push(['clarity', ...args]);`;

const SCRIPTS: [RegExp, string][] = [
  [/^https:\/\/connect\.facebook\.net\/en_US\/fbevents\.js$|\/sp\.js$/, META],
  [/^https:\/\/analytics\.tiktok\.com\/i18n\/pixel\/events\.js\?sdkid=|\/tt\.js$/, TIKTOK],
  [/^https:\/\/www\.googletagmanager\.com\/(gtag\/js|gtm\.js)\?id=|\/s[gx]\.js$/, GOOGLE],
  [/^https:\/\/www\.clarity\.ms\/tag\//, CLARITY],
];

/**
 * Stands in for the platforms' scripts: each tells `window.told` what the page tells it, from before it came and after.
 *
 * @param asked is given the address of each script of a platform.
 */
export async function standInForVendors(context: BrowserContext, asked: (url: string) => void): Promise<void> {
  for (const [address, script] of SCRIPTS) {
    await context.route(address, (route) => {
      asked(route.request().url());
      const body = `{ window.told ??= []; ${script} }`;
      return route.fulfill({ body, contentType: 'text/javascript' });
    });
  }
}
