import type { SegmentCall } from '#pipelines/intake/compat/segment.ts';

/** Bodies as people would send them; a test sends each to an edge. */
export const INGEST_EXAMPLE = {
  events: [
    {
      event: 'purchase',
      uuid: 'order-3001',
      distinct_id: 'customer-1',
      properties: { value: 12.5, currency: 'EUR', order_id: '3001', email: 'me@example.com' },
    },
  ],
};

export const INVENTORY_EXAMPLE = {
  page: '/checkout',
  url: 'https://shop.example/checkout',
  title: 'Checkout',
  elements: [{ type: 'button', selector: '#buy', text: 'Buy now', event_hint: 'purchase' }],
};

const call = { messageId: 'call-1', userId: 'customer-1' };

export const SEGMENT_EXAMPLES: Readonly<Record<SegmentCall, object>> = {
  track: { ...call, event: 'Order Completed', properties: { revenue: 12.5, currency: 'EUR' } },
  identify: { ...call, anonymousId: 'visitor-1', traits: { email: 'me@example.com' } },
  page: { ...call, name: 'Home', properties: { url: 'https://shop.example/' } },
  screen: { ...call, name: 'Cart' },
  group: { ...call, groupId: 'acme', traits: { plan: 'pro' } },
  alias: { ...call, previousId: 'visitor-1' },
};

export const SEGMENT_BATCH_EXAMPLE = {
  batch: [
    { type: 'identify', ...SEGMENT_EXAMPLES.identify },
    { type: 'track', ...SEGMENT_EXAMPLES.track, messageId: 'call-2' },
  ],
};

export const POSTHOG_EXAMPLE = {
  api_key: 'svc_sk_YOUR_KEY',
  batch: [
    {
      event: 'purchase',
      uuid: '0190a6f0-0000-7000-8000-000000000001',
      distinct_id: 'customer-1',
      properties: { value: 12.5, currency: 'EUR' },
    },
  ],
};

export const FLAGS_EXAMPLE = { api_key: 'svc_pk_YOUR_KEY', distinct_id: 'customer-1' };
