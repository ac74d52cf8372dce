import { randomUUID } from 'node:crypto';
import { type EngageKind, itemName } from '#pipelines/engage/definition_fields.ts';
import { issueEngageToken } from '#pipelines/engage/spam.ts';
import type { Event } from '#schemas/event.ts';
import { ENGAGE_SECRET, startEdge, type TestEdge, type TestEdgeOptions } from '#test/unit/edge/edge.ts';
import { engageItem } from '#test/unit/engage/ready.ts';
import { put } from '#test/unit/settings/filled_table.ts';

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
export const PAGE = { url: 'https://shop.example/cart?utm_source=news&utm_campaign=autumn', title: 'Cart' };

interface Posted {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  body: any;
  headers: Headers;
}

/** An edge whose site has definitions, and what visitors' browsers send to it. */
export interface ShopWindow extends TestEdge {
  clock: { nowMs: number };
  define(kind: EngageKind, input: object, version?: number): void;
  /** A token as /v1/engage hands it out, some seconds ago. */
  token(kind: EngageKind, id: string, options?: { agoMs?: number; version?: number }): string;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Posted>;
  events(): Event[];
}

export async function openShopWindow(options: TestEdgeOptions = {}): Promise<ShopWindow> {
  const clock = { nowMs: Date.now() };
  const edge = await startEdge({ trustedProxies: ['127.0.0.1'], nowMs: () => clock.nowMs, ...options });
  return {
    ...edge,
    clock,
    define: (kind, input, version = 1) => put(edge.table, { engage: engageItem(kind, input, version) }),
    token(kind, id, { agoMs = 10_000, version = 1 } = {}) {
      const nonce = randomUUID().slice(0, 12);
      const subject = { siteId: 'shop', name: itemName(kind, id), version };
      return issueEngageToken(ENGAGE_SECRET, subject, clock.nowMs - agoMs, nonce);
    },
    async post(path, body, headers = {}) {
      const isText = typeof body === 'string';
      const response = await fetch(`${edge.url}${path}?key=${edge.browserKey}`, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          'content-type': isText ? 'application/x-www-form-urlencoded' : 'text/plain',
          'user-agent': BROWSER,
          origin: 'https://shop.example',
          ...headers,
        },
        body: isText ? body : JSON.stringify(body),
      });
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
      return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
    },
    events: () => edge.records.flat(),
  };
}
