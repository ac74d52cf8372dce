import { randomUUID } from 'node:crypto';

/**
 * A request of web events of about 500 bytes, as a visitor's browser makes them: mostly page views, one in five a
 * product view with its price, and one event with the visitor's e-mail address.
 */
export function requestBody(count: number): string {
  return JSON.stringify({ events: webEvents(count) });
}

/** Events of one visitor. */
export function webEvents(count: number): object[] {
  const visitor = randomUUID();
  return Array.from({ length: count }, (_, index) => webEvent(visitor, index));
}

function webEvent(visitor: string, index: number): object {
  const product = `sku-${1000 + index * 7}`;
  return {
    event: index % 5 === 0 ? 'view_item' : 'page_view',
    uuid: randomUUID(),
    distinct_id: visitor,
    timestamp: new Date().toISOString(),
    properties: {
      url: `https://shop.example/catalogue/${product}?utm_source=newsletter&utm_campaign=autumn`,
      referrer: 'https://search.example/results/autumn-jackets',
      title: `Product ${product} in the autumn sale of the example shop`,
      screen_width: 1920,
      language: 'en-GB',
      session_id: visitor.slice(0, 13),
      utm_source: 'newsletter',
      utm_campaign: 'autumn',
      ...(index % 5 === 0 ? { product_id: product, value: 19.5 + index, currency: 'EUR' } : {}),
      ...(index === 0 ? { email: 'visitor@example.com' } : {}),
    },
  };
}
