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
  return Array.from({ length: count }, (_, index) => webEvent(visitor, index, randomUUID(), new Date().toISOString()));
}

/** What stands in a body's template, as long as what is written over it. */
const MARKS = {
  visitor: 'aaaaaaaa-0000-4000-8000-00000000000a',
  uuid: 'bbbbbbbb-0000-4000-8000-00000000000b',
  timestamp: '2000-01-01T00:00:00.000Z',
};
const ANY_MARK = new RegExp([MARKS.visitor, sessionOf(MARKS.visitor), MARKS.uuid, MARKS.timestamp].join('|'), 'g');

/**
 * Makes bodies like those of `requestBody`, each of a new visitor, by writing over a copy of one body: what sends them at
 * a rate shares the machine with what it measures.
 */
export function bodyMaker(count: number): () => Buffer {
  const events = Array.from({ length: count }, (_, index) =>
    webEvent(MARKS.visitor, index, MARKS.uuid, MARKS.timestamp),
  );
  const template = JSON.stringify({ events });
  const marks = [...template.matchAll(ANY_MARK)].map(({ 0: mark, index }) => ({ mark, index }));
  const bytes = Buffer.from(template, 'latin1');
  return () => {
    const visitor = randomUUID();
    const timestamp = new Date().toISOString();
    const body = Buffer.from(bytes);
    for (const { mark, index } of marks) {
      if (mark === MARKS.uuid) body.write(randomUUID(), index, 'latin1');
      else if (mark === MARKS.timestamp) body.write(timestamp, index, 'latin1');
      else body.write(visitor, index, mark.length, 'latin1');
    }
    return body;
  };
}

function webEvent(visitor: string, index: number, uuid: string, timestamp: string): object {
  const product = `sku-${1000 + index * 7}`;
  return {
    event: index % 5 === 0 ? 'view_item' : 'page_view',
    uuid,
    distinct_id: visitor,
    timestamp,
    properties: {
      url: `https://shop.example/catalogue/${product}?utm_source=newsletter&utm_campaign=autumn`,
      referrer: 'https://search.example/results/autumn-jackets',
      title: `Product ${product} in the autumn sale of the example shop`,
      screen_width: 1920,
      language: 'en-GB',
      session_id: sessionOf(visitor),
      utm_source: 'newsletter',
      utm_campaign: 'autumn',
      ...(index % 5 === 0 ? { product_id: product, value: 19.5 + index, currency: 'EUR' } : {}),
      ...(index === 0 ? { email: 'visitor@example.com' } : {}),
    },
  };
}

function sessionOf(visitor: string): string {
  return visitor.slice(0, 13);
}
