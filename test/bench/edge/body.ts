import { randomUUID } from 'node:crypto';

/** A request of 50 web events of about 500 bytes, one in ten with an e-mail address. */
export function requestBody(): string {
  const visitor = randomUUID();
  return JSON.stringify({ events: Array.from({ length: 50 }, (_, index) => webEvent(visitor, index)) });
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
      referrer: 'https://search.example/',
      title: `Product ${product} in the autumn sale`,
      screen_width: 1920,
      session_id: visitor.slice(0, 13),
      utm_source: 'newsletter',
      utm_campaign: 'autumn',
      product_id: product,
      value: 19.5 + index,
      currency: 'EUR',
      ...(index % 10 === 0 ? { email: `visitor.${index}@example.com` } : {}),
    },
  };
}
