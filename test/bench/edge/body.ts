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

const MARKS = { visitor: '#visitor-mark#', uuid: '#uuid#', timestamp: '#timestamp#' };
const SESSION_MARK = sessionOf(MARKS.visitor);
const ANY_MARK = /(#visitor-mark#|#visitor-mark|#uuid#|#timestamp#)/;

/**
 * Makes bodies like those of `requestBody`, each of a new visitor, for a third of the CPU: what sends them at a rate
 * shares the machine with what it measures.
 */
export function bodyMaker(count: number): () => string {
  const events = Array.from({ length: count }, (_, index) =>
    webEvent(MARKS.visitor, index, MARKS.uuid, MARKS.timestamp),
  );
  const pieces = JSON.stringify({ events }).split(ANY_MARK);
  return () => {
    const visitor = randomUUID();
    const timestamp = new Date().toISOString();
    let body = '';
    for (const piece of pieces) {
      if (piece === MARKS.uuid) body += randomUUID();
      else if (piece === MARKS.visitor) body += visitor;
      else if (piece === MARKS.timestamp) body += timestamp;
      else body += piece === SESSION_MARK ? sessionOf(visitor) : piece;
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
