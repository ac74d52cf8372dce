import { init } from '@plausible-analytics/tracker';

// Else it sends nothing where a tool drives the browser.
Object.assign(window, { __plausible: true });
const { endpoint = '' } = (document.currentScript as HTMLScriptElement).dataset;
init({ domain: 'www.shop.example', endpoint, logging: false });
